import { type Static, Type } from 'typebox';
import { STATUS_NAMES } from '../../../messaging/states.ts';
import { StatusRecord } from '../../../messaging/tracking/schema.ts';
import { instantField } from '../../../platform/lib/instant.ts';
import { channelName, id, instant, orNull } from '../../../platform/lib/schema.ts';

const SOURCES = ['API', 'CAMPAIGN', 'INBOX'] as const;

export const SearchQuery = Type.Object({
  channel: Type.Optional(channelName()),
  status: Type.Optional(Type.Enum([...STATUS_NAMES], { type: 'string', description: 'As in `deliveryStatus`.' })),
  destination: Type.Optional(
    Type.String({
      pattern: '^[+0-9 ().\\-/]{1,30}$',
      'x-message': 'must be digits of a number, at most 30 characters',
      description: 'Consecutive digits of the number.',
    }),
  ),
  sender: Type.Optional(Type.String({ maxLength: 128, description: 'The exact sender.' })),
  campaignId: Type.Optional(id()),
  source: Type.Optional(Type.Enum([...SOURCES], { type: 'string', description: 'The source of the message.' })),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Our id of a message, which overrides all other filters; or your reference; or digits of the number.',
    }),
  ),
  from: Type.Optional(instantField('The earliest time of acceptance. Default: seven days before `to`.')),
  to: Type.Optional(instantField('The latest time of acceptance, inclusive. Default: now.')),
  before: Type.Optional(Type.String({ format: 'uuid', description: '`next` of the previous response.' })),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'The maximum number of messages.' }),
});
export type SearchQuery = Static<typeof SearchQuery>;

export const SearchOut = Type.Object({
  data: Type.Array(
    Type.Object({
      ...StatusRecord.properties,
      acceptedAt: instant('UTC'),
      readAt: orNull(instant('Time at which the person read the message, in UTC, if known.')),
      source: Type.Enum([...SOURCES], { type: 'string' }),
      simulation: Type.Boolean(),
      text: Type.String({ description: 'Empty for templates and files that a campaign sent.' }),
    }),
    { description: 'Newest first.' },
  ),
  next: orNull(Type.String({ description: 'The value of `before` that continues the search; null at its end.' })),
  searchedTo: instant('Time back to which this response has searched.'),
});
export type SearchOut = Static<typeof SearchOut>;
