import { type Static, Type } from 'typebox';
import { SENDING_MODES } from '../../engagement/campaigns/mode.ts';
import { channelName, instant, orNull } from '../../platform/lib/schema.ts';

const count = (description: string) => Type.Integer({ description });
const perSecond = (description: string) => Type.Number({ description });

export const OverviewQuery = Type.Object({
  hours: Type.Integer({ minimum: 1, maximum: 168, default: 24, description: 'How far back the series goes.' }),
});

/** What somebody should look at. */
export const ATTENTION_KINDS = [
  'carrier_down',
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
  count: orNull(count('How many: unknown outcomes.')),
  subject: orNull(
    Type.String({ description: 'The name of what it is about: connection, campaign, file, template, profile.' }),
  ),
  subjectId: orNull(Type.String({ description: 'Its id, where it has one in this interface.' })),
  since: orNull(instant('UTC; null where nobody noted it.')),
  detail: orNull(Type.String({ description: 'Why, in the words that were noted; for people.' })),
});

const Running = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  status: count('1 scheduled, 2 sending.'),
  sendingMode: Type.Enum([...SENDING_MODES], { type: 'string' }),
  paused: Type.Boolean(),
  scheduledAt: orNull(instant('UTC')),
  progress: Type.Number({ description: '0 to 1: how many recipients have come to an end.' }),
  sent: count('Messages given to carriers, those that ended before included.'),
  total: count('Recipients that something is sent to.'),
  ratePerSecond: orNull(perSecond('As in the campaign.')),
  estimatedSecondsLeft: orNull(Type.Integer()),
  failureReason: orNull(Type.String({ description: 'Why it waits.' })),
});

export const OverviewOut = Type.Object({
  asOf: instant('UTC'),
  rate: Type.Object(
    {
      accepted: perSecond('By the last minute, or the newest 2,000 messages when those came faster.'),
      delivered: orNull(perSecond('Over about the last minute; null when this was not asked before.')),
      failed: orNull(perSecond('The same.')),
    },
    { description: 'Messages a second.' },
  ),
  totals: Type.Object({
    today: Type.Object(
      {
        sent: count('Given to carriers.'),
        delivered: count('Arrived.'),
        failed: count('Ended undelivered.'),
        pending: count('Of those sent, without an end.'),
        cost: Type.Number({ description: 'In the currency of the account.' }),
      },
      { description: 'Of messages that were accepted since midnight, UTC.' },
    ),
  }),
  series: Type.Array(
    Type.Object({
      bucket: instant('The start of an hour, UTC.'),
      channel: channelName(),
      sent: Type.Integer(),
      delivered: Type.Integer(),
      failed: Type.Integer(),
    }),
    { description: 'Every hour up to this one with every channel, the oldest first, by the time of acceptance.' },
  ),
  credit: Type.Object({
    available: Type.Number(),
    frozen: Type.Number({ description: 'Reserved for messages whose outcome is open.' }),
    currency: Type.String(),
    unlimited: Type.Boolean({ description: 'The account pays afterwards.' }),
  }),
  campaigns: Type.Array(Running, {
    description: 'Up to ten that are being sent, then up to five that wait for their time, the next first.',
  }),
  attention: Type.Array(Attention, {
    description: 'The worst first. Failures of the last seven days; nothing of areas whose scope the caller lacks.',
  }),
});
export type OverviewOut = Static<typeof OverviewOut>;
export type Attention = Static<typeof Attention>;
export type AttentionKind = Attention['kind'];
