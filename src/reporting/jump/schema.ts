import { type Static, Type } from 'typebox';
import { STATUS_NAMES } from '../../messaging/states.ts';
import { channelName, instant, orNull } from '../../platform/lib/schema.ts';

export const JumpQuery = Type.Object({
  q: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'An id of a message, yours or ours; or a part of a name, number or email address.',
  }),
});

const Message = Type.Object({
  messageId: Type.String(),
  channel: channelName(),
  destination: Type.String(),
  deliveryStatus: Type.Enum([...STATUS_NAMES], { type: 'string' }),
  acceptedAt: instant('UTC'),
});

const Contact = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  phoneNumber: orNull(Type.String()),
});

const Campaign = Type.Object({ id: Type.Integer(), name: Type.String(), createdAt: instant('UTC') });

export const JumpOut = Type.Object({
  messages: Type.Array(Message, { description: 'The message with this id; at most one.' }),
  contacts: Type.Array(Contact, { description: 'Up to five. None for a text below three characters.' }),
  campaigns: Type.Array(Campaign, {
    description: 'Up to five of the newest 2,000 campaigns, newest first; and the one with this id.',
  }),
});
export type JumpOut = Static<typeof JumpOut>;
