import { type Static, Type } from 'typebox';
import { pageFields } from '../http/page.ts';
import { CHANNELS } from '../lib/channel.ts';
import { INSTANT } from '../lib/instant.ts';
import { STATUS_NAMES } from '../messages/states.ts';

const instant = (description: string) =>
  Type.String({
    pattern: INSTANT,
    'x-message': 'must be an ISO 8601 date and time with an offset, such as 2027-01-31T09:00:00+01:00',
    description: `${description} ISO 8601 with an offset.`,
    examples: ['2027-01-31T09:00:00+01:00'],
  });

export const HistoryQuery = Type.Object({
  channel: Type.Enum([...CHANNELS], { type: 'string' }),
  from: instant('The first time at which a message may have been accepted.'),
  to: instant('The last one.'),
  status: Type.Optional(Type.Enum([...STATUS_NAMES], { type: 'string', description: 'As `deliveryStatus`.' })),
  page: pageFields.page,
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 20, description: 'Entries on a page.' }),
});
export type HistoryQuery = Static<typeof HistoryQuery>;
