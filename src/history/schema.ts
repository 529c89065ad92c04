import { type Static, Type } from 'typebox';
import { pageFields } from '../http/page.ts';
import { CHANNELS } from '../lib/channel.ts';
import { instantField } from '../lib/instant.ts';
import { STATUS_NAMES } from '../messages/states.ts';

export const HistoryQuery = Type.Object({
  channel: Type.Enum([...CHANNELS], { type: 'string' }),
  from: instantField('The first time at which a message may have been accepted.'),
  to: instantField('The last one.'),
  status: Type.Optional(Type.Enum([...STATUS_NAMES], { type: 'string', description: 'As `deliveryStatus`.' })),
  page: pageFields.page,
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 20, description: 'Entries on a page.' }),
});
export type HistoryQuery = Static<typeof HistoryQuery>;
