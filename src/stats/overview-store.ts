import { type Static, Type } from 'typebox';
import { SENDING_MODES } from '../campaigns/audience.ts';
import { CAMPAIGN, CAMPAIGN_ENTRY, CAMPAIGN_SOURCE, type CampaignEntry } from '../campaigns/store.ts';
import { as, columns, constant, type Db, many, one, type RowOf, sql } from '../core/db/query.ts';
import { shownAmount } from '../core/money.ts';
import { channelName, instant, orNull } from '../core/schema.ts';

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
    yesterday: Type.Object(TOTALS, { description: 'The same for the day before, up to the current hour.' }),
  }),
  series: Type.Array(
    Type.Object({
      bucket: instant('The start of an hour, UTC.'),
      channel: channelName(),
      sent: Type.Integer(),
      delivered: Type.Integer(),
      failed: Type.Integer(),
      cost: TOTALS.cost,
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
      cost: TOTALS.cost,
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

const READY = constant(CAMPAIGN.READY);
const SENDING = constant(CAMPAIGN.SENDING);

type Of = { readonly accountId: number };

const HOUR = columns({
  hour: as<Date>('hour'),
  /** The bit of the channel (src/core/channels.ts). */
  channel: as<number>('channel'),
  sent: as<number>('sum(sent)::bigint'),
  delivered: as<number>('sum(delivered)::bigint'),
  failed: as<number>('sum(failed)::bigint'),
  /** The part of `failed` that was never given to a carrier. */
  unsent: as<number>('sum(unsent)::bigint'),
  costMicros: as<number>('sum(cost_micros)::bigint'),
});
export type HourRow = RowOf<typeof HOUR>;

/**
 * Lists the figures by hour and channel from an hour on. The sums are the same whether an hour has been folded or not.
 */
export const listHours = (db: Db, { accountId, from }: Of & { from: Date }): Promise<HourRow[]> =>
  many(
    db,
    sql`SELECT ${HOUR} FROM traffic_hour
        WHERE account_id = ${accountId} AND hour >= ${from} GROUP BY hour, channel ORDER BY hour, channel`,
  );

/**
 * Reads the newest `limit` messages from an id on. Returns their number (`seen`), the number of them that are not
 * simulations (`count`), and the id of the oldest.
 */
export const countAccepted = (
  db: Db,
  { accountId, firstId, limit }: Of & { firstId: string; limit: number },
): Promise<{ count: number; seen: number; oldestId: string | null }> =>
  one(
    db,
    sql`SELECT count(*) FILTER (WHERE NOT simulation) AS count, count(*) AS seen, min(id::text) AS "oldestId"
        FROM (SELECT id, simulation FROM message WHERE account_id = ${accountId} AND id >= ${firstId}
              ORDER BY id DESC LIMIT ${limit}) AS newest`,
  );

/** Lists campaigns that are being sent, newest first, then scheduled ones, next first. */
export async function listActiveCampaigns(
  db: Db,
  { accountId, sending, scheduled }: Of & { sending: number; scheduled: number },
): Promise<CampaignEntry[]> {
  const active = sql`SELECT ${CAMPAIGN_ENTRY} ${CAMPAIGN_SOURCE} WHERE k.account_id = ${accountId} AND k.confirmed_at IS NOT NULL`;
  return many<CampaignEntry>(
    db,
    sql`(${active} AND k.status = ${SENDING} ORDER BY k.id DESC LIMIT ${sending})
        UNION ALL
        (${active} AND k.status = ${READY} ORDER BY k.scheduled_at, k.id LIMIT ${scheduled})`,
  );
}

const DAY = columns({
  /** YYYY-MM-DD, UTC. */
  day: as<string>('day'),
  /** The bit of the channel (src/core/channels.ts). */
  channel: as<number>('channel'),
  sent: as<number>('sum(sent)::bigint'),
  delivered: as<number>('sum(delivered)::bigint'),
  failed: as<number>('sum(failed)::bigint'),
  /** The part of `failed` that was never given to a carrier. */
  unsent: as<number>('sum(unsent)::bigint'),
  costMicros: as<number>('sum(cost_micros)::bigint'),
});
export type DayRow = RowOf<typeof DAY>;

/**
 * Lists the figures by day and channel from one midnight, UTC, to another: from the daily roll-up, and from the hours
 * that are not folded into it yet.
 */
export const listDays = (
  db: Db,
  { accountId, from, to }: Of & { readonly from: Date; readonly to: Date },
): Promise<DayRow[]> =>
  many(
    db,
    sql`SELECT ${DAY} FROM (
          SELECT (hour AT TIME ZONE 'UTC')::date AS day, channel, sent, delivered, failed, unsent, cost_micros
          FROM traffic_hour
          WHERE account_id = ${accountId} AND hour >= ${from} AND hour < ${to} AND shard >= 0
          UNION ALL
          SELECT day, channel, sent, delivered, failed, unsent, cost_micros FROM traffic_day
          WHERE account_id = ${accountId} AND day >= (${from}::timestamptz AT TIME ZONE 'UTC')::date
            AND day < (${to}::timestamptz AT TIME ZONE 'UTC')::date) AS counted
        GROUP BY day, channel ORDER BY day, channel`,
  );

const SHARED_STEPS = columns({
  connection: as<boolean>(`EXISTS (SELECT FROM connection WHERE status = 'active' AND NOT sandbox)`),
  prices: as<boolean>('EXISTS (SELECT FROM price)'),
});

/**
 * Finds out if the gateway has a connection to a real carrier, and prices. Needs the rights of the program, because
 * accounts may not read these tables.
 */
export const findSharedSteps = (db: Db): Promise<RowOf<typeof SHARED_STEPS>> => one(db, sql`SELECT ${SHARED_STEPS}`);

const OWN_STEPS = columns({
  key: as<boolean>(
    'EXISTS (SELECT FROM api_key WHERE account_id = a.id AND (expires_at IS NULL OR expires_at > now()))',
  ),
  webhook: as<boolean>('EXISTS (SELECT FROM webhook_endpoint WHERE account_id = a.id)'),
  message: as<boolean>(
    `EXISTS (SELECT FROM traffic_hour WHERE account_id = a.id AND sent > 0)
     OR EXISTS (SELECT FROM traffic_day WHERE account_id = a.id AND sent > 0)`,
  ),
  contacts: as<boolean>('EXISTS (SELECT FROM contact_book WHERE account_id = a.id AND contacts > 0)'),
  campaign: as<boolean>('EXISTS (SELECT FROM campaign WHERE account_id = a.id AND confirmed_at IS NOT NULL)'),
});

/** Finds the first steps that an account has completed. */
export const findOwnSteps = (db: Db, { accountId }: Of): Promise<RowOf<typeof OWN_STEPS>> =>
  one(db, sql`SELECT ${OWN_STEPS} FROM (SELECT ${accountId}::bigint AS id) AS a`);
