import { Type } from 'typebox';
import { instantField } from '../../platform/lib/instant.ts';
import { STATUS_NAMES } from '../../messaging/states.ts';
import { channelName } from '../../platform/lib/schema.ts';

/** What the history is asked for, besides its page. */
export const historyFields = {
  channel: channelName(),
  from: instantField('The first time at which a message may have been accepted.'),
  to: instantField('The last one.'),
  status: Type.Optional(Type.Enum([...STATUS_NAMES], { type: 'string', description: 'As `deliveryStatus`.' })),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 20, description: 'Entries on a page.' }),
};
