import { type Static, Type } from 'typebox';
import { shownAmount } from '../../../platform/lib/amounts.ts';
import { channelName, instant, orNull } from '../../../platform/lib/schema.ts';

export const ScheduledMessage = Type.Object({
  messageId: Type.String(),
  customerMessageId: orNull(Type.String()),
  channel: channelName(),
  destination: Type.String(),
  sender: Type.String(),
  text: Type.String({ description: 'The text of the message, or its readable text.' }),
  scheduledDate: Type.String({ description: 'When it is sent: yyyy-MM-dd HH:mm:ss.SSSZ, in UTC.' }),
  acceptedDate: instant('UTC; when the request was accepted.'),
  parts: Type.Integer(),
  price: shownAmount('The price of the whole message, which is reserved.'),
});
export type ScheduledMessage = Static<typeof ScheduledMessage>;

export const ScheduledFilter = { channel: Type.Optional(channelName('Only messages on this channel.')) };
export const ScheduledParams = Type.Object({ id: Type.String({ minLength: 1, description: 'Our messageId.' }) });

export const SchedulePatch = Type.Object({
  scheduledDate: Type.String({
    description: 'yyyy-MM-dd HH:mm:ss.SSSZ, for example 2027-01-31 09:00:00.000+0100, or ISO 8601 with an offset.',
  }),
});
