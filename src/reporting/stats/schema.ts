import { Type } from 'typebox';
import { SENDING_MODES } from '../../engagement/campaigns/mode.ts';
import { UNITS } from './sql.ts';
import { channelName, id } from '../../platform/lib/schema.ts';

const day = (description: string) => Type.String({ format: 'date', description: `yyyy-MM-dd, UTC; ${description}` });
const MODE = SENDING_MODES.join('|');

const bucketFields = {
  aggregateOn: Type.Enum([...UNITS], {
    type: 'string',
    default: 'day',
    description: 'How long a bucket is. UTC; weeks start on Monday.',
  }),
  direction: Type.Enum(['ASC', 'DESC'], { type: 'string', default: 'ASC', description: 'Oldest or newest first.' }),
};

export const statsFields = {
  ...bucketFields,
  startDate: day('the first day.'),
  endDate: day('the last day, itself included; at most 10 years after the first.'),
  sendingMode: Type.Optional(
    Type.String({
      pattern: `^(${MODE})(,(${MODE}))*$`,
      'x-message': `must be sending modes (${SENDING_MODES.join(', ')}) with commas between them`,
      description: 'Campaigns of exactly this mode, or of one of these with commas between them. Default: of all.',
    }),
  ),
  isDraft: Type.Boolean({
    default: true,
    description: 'false leaves out drafts that were never confirmed; otherwise they count in `campaigns`.',
  }),
};

export const campaignStatsFields = {
  ...bucketFields,
  startDate: Type.Optional(day('the first day. Default: from the beginning.')),
  endDate: Type.Optional(day('the last day, itself included. Default: to the end.')),
};

export const CampaignId = Type.Object({ id: id() });

const whole = (description: string) => Type.Integer({ description });

const counts = {
  sent: whole('Messages that were given to a carrier: taken, refused, or unknown.'),
  delivered: whole('Messages that arrived, those that were read included.'),
  read: whole('Messages that were read, as far as the channel tells.'),
  failed: whole('Messages that ended undelivered, those that ended before they were sent (cancelled) included.'),
  pending: whole('Messages of `sent` whose end is not known yet.'),
  cost: Type.Number({
    description: 'What these messages cost, in the currency of the account; what was given back left out.',
  }),
};

const BUCKET = Type.String({
  format: 'date-time',
  description: 'Its start, UTC. The first one may start before `startDate`, and holds what is from then on.',
});
const SKIPPED = whole('Recipients that nothing is sent to, of the campaigns that began in it.');

/** Counted by the time at which a message was accepted, whenever it was sent or arrived. */
export const BucketOut = Type.Object({
  bucket: BUCKET,
  campaigns: whole(
    'Different campaigns that have messages in it or began in it; besides, drafts that were made in it (`isDraft`).',
  ),
  ...counts,
  skipped: SKIPPED,
});

export const CampaignBucketOut = Type.Object({
  bucket: BUCKET,
  campaigns: whole('1'),
  ...counts,
  skipped: SKIPPED,
  channels: Type.Array(Type.Object({ channel: channelName(), ...counts }), {
    description: 'The same by channel, those without messages left out.',
  }),
});
