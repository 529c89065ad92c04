import { type Static, Type } from 'typebox';
import { SENDING_MODES } from '../../engagement/campaigns/mode.ts';
import { shownAmount } from '../../platform/lib/amounts.ts';
import { channelName, instant, orNull } from '../../platform/lib/schema.ts';

const count = (description: string) => Type.Integer({ description });
const perSecond = (description: string) => Type.Number({ description });

export const OverviewQuery = Type.Object({
  hours: Type.Integer({ minimum: 1, maximum: 168, default: 24, description: 'Number of hours in the series.' }),
});

/** Kinds of entries that may need a person's attention. */
export const ATTENTION_KINDS = [
  'carrier_down',
  'carrier_paused',
  'sending_paused',
  'webhook_failing',
  'webhook_disabled',
  'low_credit',
  'unknown_outcomes',
  'campaign_failed',
  'campaign_paused',
  'import_failed',
  'export_failed',
  'social_disconnected',
  'template_rejected',
] as const;

export const SEVERITIES = ['error', 'warning', 'info'] as const;

const Attention = Type.Object({
  kind: Type.Enum([...ATTENTION_KINDS], { type: 'string' }),
  severity: Type.Enum([...SEVERITIES], { type: 'string' }),
  count: orNull(count('The number of unknown outcomes; null for the other kinds.')),
  subject: orNull(
    Type.String({ description: 'The name of the connection, campaign, file, template or profile concerned.' }),
  ),
  subjectId: orNull(Type.String({ description: 'The id of the subject, where this API has one.' })),
  since: orNull(instant('UTC; null if it is not known.')),
  detail: orNull(Type.String({ description: 'The recorded reason, as text.' })),
});

const Running = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  status: count('1 scheduled, 2 sending.'),
  sendingMode: Type.Enum([...SENDING_MODES], { type: 'string' }),
  paused: Type.Boolean(),
  scheduledAt: orNull(instant('UTC')),
  progress: Type.Number({ description: 'The share of recipients that are finished, from 0 to 1.' }),
  sent: count('Messages given to carriers, including those that ended before.'),
  total: count('Recipients to whom something is sent.'),
  ratePerSecond: orNull(perSecond('As in the campaign.')),
  estimatedSecondsLeft: orNull(Type.Integer()),
  failureReason: orNull(Type.String({ description: 'Reason why the campaign waits.' })),
});

const TOTALS = {
  sent: count('Messages given to carriers.'),
  delivered: count('Messages that were delivered.'),
  failed: count('Messages that ended undelivered.'),
  pending: count('Messages of `sent` whose final status is not known yet.'),
  cost: shownAmount('In the currency of the account.'),
};

export const OverviewOut = Type.Object({
  asOf: instant('UTC'),
  rate: Type.Object(
    {
      accepted: perSecond('Over the last minute, or over the newest 2,000 messages when those came faster.'),
      delivered: orNull(perSecond('Over about the last minute; null on the first request.')),
      failed: orNull(perSecond('Over about the last minute; null on the first request.')),
    },
    { description: 'Messages per second.' },
  ),
  totals: Type.Object({
    today: Type.Object(TOTALS, { description: 'The messages accepted since midnight, UTC.' }),
  }),
  series: Type.Array(
    Type.Object({
      bucket: instant('The start of an hour, UTC.'),
      channel: channelName(),
      sent: Type.Integer(),
      delivered: Type.Integer(),
      failed: Type.Integer(),
    }),
    {
      description:
        'An entry for every hour up to the current one and every channel, by the time of acceptance, oldest first.',
    },
  ),
  credit: orNull(
    Type.Object(
      {
        available: Type.Number(),
        frozen: Type.Number({ description: 'Reserved for messages whose outcome is open.' }),
        currency: Type.String(),
        unlimited: Type.Boolean({ description: 'True if the account pays after use.' }),
      },
      { description: 'Null without the scope `money`.' },
    ),
  ),
  campaigns: Type.Array(Running, {
    description: 'Up to ten campaigns that are being sent, then up to five scheduled ones, next first.',
  }),
  attention: Type.Array(Attention, {
    description: 'Worst first. Failures of the last seven days, as far as the scopes of the caller cover them.',
  }),
});
const day = (description: string) => Type.String({ format: 'date', description: `yyyy-MM-dd, UTC; ${description}` });

export const PeriodQuery = Type.Object({
  startDate: day('the first day.'),
  endDate: day('the last day, inclusive; at most 366 days in all.'),
});

export const PeriodOut = Type.Object({
  startDate: day('the first day.'),
  endDate: day('the last day, inclusive.'),
  totals: Type.Object(TOTALS, { description: 'The messages accepted on these days.' }),
  previous: Type.Object(
    {
      startDate: day('the first day.'),
      endDate: day('the last day, inclusive.'),
      totals: Type.Object(TOTALS),
    },
    { description: 'The same for the preceding period.' },
  ),
  series: Type.Array(
    Type.Object({
      day: day('by the time of acceptance.'),
      channel: channelName(),
      sent: Type.Integer(),
      delivered: Type.Integer(),
      failed: Type.Integer(),
    }),
    { description: 'An entry for every day and every channel, oldest first.' },
  ),
});
export type PeriodOut = Static<typeof PeriodOut>;

const isDone = (description: string) => Type.Boolean({ description });

export const FirstStepsOut = Type.Object({
  connection: isDone('The gateway has an active connection to a carrier other than the sandbox.'),
  prices: isDone('The gateway has a price list.'),
  key: isDone('The account has an API key that has not expired.'),
  webhook: isDone('The account has a webhook.'),
  message: isDone('The account has sent a message that was not a simulation.'),
  contacts: isDone('The account has contacts.'),
  campaign: isDone('The account has confirmed a campaign.'),
});
export type FirstStepsOut = Static<typeof FirstStepsOut>;

export type OverviewOut = Static<typeof OverviewOut>;
export type Attention = Static<typeof Attention>;
export type AttentionKind = Attention['kind'];
