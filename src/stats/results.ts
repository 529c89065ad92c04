import { type Static, Type } from 'typebox';
import { chainOf, type SendingMode } from '../campaigns/audience.ts';
import { bitOf, CHANNELS, type Channel } from '../core/channels.ts';
import { as, columns, type Db, many, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { existing } from '../core/errors.ts';
import { firstIdAt } from '../core/ids.ts';
import { nameOfStatus, STATUS_NAMES } from '../core/message-state.ts';
import { channelName, instant, orNull } from '../core/schema.ts';
import { DAY_MS } from '../core/time.ts';
import { NOT_TRIED } from '../messages/next-channel.ts';

const count = (description: string) => Type.Integer({ description });

export const ResultsOut = Type.Object({
  startedAt: orNull(instant()),
  replies: count('Recipients who wrote to the account within seven days after the start.'),
  repliesAreComplete: Type.Boolean({
    description: 'False: the account got more than 100,000 messages in that time, and only the newest are counted.',
  }),
  optOuts: count('Recipients who opted out by their own message within seven days after the start.'),
  reasons: Type.Array(
    Type.Object({
      channel: channelName(),
      status: Type.Enum([...STATUS_NAMES], { type: 'string' }),
      code: Type.String({
        description: 'The code of the carrier or of the gateway, cut to 40 characters; may be empty.',
      }),
      count: count('Messages. A recipient of a combined mode may have several.'),
    }),
    { description: 'Reasons why messages failed, the most frequent first; at most 100.' },
  ),
  stepSeconds: count('The length of a step of `steps`.'),
  steps: Type.Array(
    Type.Object({
      at: instant('The start of the step.'),
      sent: count('Messages whose outcome at the carrier became known.'),
      delivered: count('Messages whose delivery became known.'),
      failed: count('Messages that ended undelivered.'),
    }),
    {
      description:
        'Outcomes over time, oldest first, in at most 120 steps; empty ones are omitted. The figures are exact.',
    },
  ),
});
export type ResultsOut = Static<typeof ResultsOut>;

const channelOfBit = (bit: number): Channel => CHANNELS.find((channel) => bitOf(channel) === bit) ?? 'SMS';

type Found = {
  readonly startedAt: Date | null;
  readonly reasons: readonly ReasonRow[];
  readonly minutes: readonly MinuteFigures[];
  readonly replies: number;
  readonly repliesAreComplete: boolean;
  readonly optOuts: number;
};

const toResultsOut = ({ startedAt, reasons, minutes, ...counts }: Found): ResultsOut => ({
  startedAt: startedAt?.toISOString() ?? null,
  ...counts,
  reasons: reasons.map(({ channel, status, ...reason }) => ({
    channel: channelOfBit(channel),
    status: nameOfStatus(status),
    ...reason,
  })),
  stepSeconds: minutes[0]?.stepSeconds ?? 60,
  steps: minutes.map(({ at, sent, delivered, failed }) => ({ at: at.toISOString(), sent, delivered, failed })),
});

/** Inbound messages within this time after the start count as replies. */
const ANSWER_DAYS = 7;
const MAX_INBOUND = 100_000;
const MAX_REASONS = 100;

/**
 * Finds the results of a campaign: the reasons of failures, the outcomes over time, and the recipients who replied. It
 * is read from the figures that are added up while messages are settled, and from the inbound messages of seven days:
 * its cost does not grow with the recipients. Errors: 404.
 */
export async function findResults(db: Db, one: { accountId: number; campaignId: number }): Promise<ResultsOut> {
  const span = await existing(findSpan(db, one));
  const { startedAt } = span;
  const figures = {
    startedAt,
    reasons: await listReasons(db, { ...one, limit: MAX_REASONS }),
    minutes: await listMinutes(db, one),
  };
  if (!startedAt) return toResultsOut({ ...figures, replies: 0, repliesAreComplete: true, optOuts: 0 });
  const window = { from: startedAt, to: new Date(startedAt.getTime() + ANSWER_DAYS * DAY_MS) };
  const ids = { firstId: firstIdAt(window.from), endId: firstIdAt(window.to), limit: MAX_INBOUND };
  const answers = await countAnswers(db, { ...one, ...ids });
  const optOuts = await countOptOuts(db, { ...one, ...window });
  return toResultsOut({
    ...figures,
    replies: answers?.people ?? 0,
    repliesAreComplete: (answers?.seen ?? 0) < MAX_INBOUND,
    optOuts: optOuts?.people ?? 0,
  });
}

type One = { readonly accountId: number; readonly campaignId: number };

const SPAN = columns({ startedAt: as<Date | null>('k.started_at') });

/** Finds the start of a campaign; undefined when there is no such campaign. */
const findSpan = (db: Db, { accountId, campaignId }: One): Promise<RowOf<typeof SPAN> | undefined> =>
  maybeOne(db, sql`SELECT ${SPAN} FROM campaign k WHERE k.account_id = ${accountId} AND k.id = ${campaignId}`);

const REASON = columns({
  channel: as<number>('m.channel'),
  status: as<number>('m.status'),
  code: as<string>('m.code'),
  count: as<number>('sum(m.failed)::bigint'),
});
type ReasonRow = RowOf<typeof REASON>;

/** Lists the reasons for which messages of a campaign failed, the most frequent first, up to `limit`. */
const listReasons = (db: Db, { accountId, campaignId, limit }: One & { limit: number }): Promise<ReasonRow[]> =>
  many(
    db,
    sql`SELECT ${REASON} FROM campaign_minute m
        WHERE m.account_id = ${accountId} AND m.campaign_id = ${campaignId} AND m.failed <> 0
        GROUP BY m.channel, m.status, m.code HAVING sum(m.failed) > 0 ORDER BY 4 DESC, 1, 2, 3 LIMIT ${limit}`,
  );

const MINUTE = columns({
  at: as<Date>("date_bin(b.step, m.minute, '2000-01-01Z')"),
  sent: as<number>('sum(m.sent)::bigint'),
  delivered: as<number>('sum(m.delivered)::bigint'),
  failed: as<number>('sum(m.failed)::bigint'),
  stepSeconds: as<number>('extract(epoch FROM b.step)::int'),
});
type MinuteFigures = RowOf<typeof MINUTE>;

/**
 * Lists the outcomes of the messages of a campaign over time, oldest first: in the smallest steps of a minute, five
 * minutes, a quarter of an hour, an hour or six hours with which the whole takes at most 120 of them. Empty steps are
 * omitted.
 */
export const listMinutes = (db: Db, { accountId, campaignId }: One): Promise<MinuteFigures[]> => {
  const own = sql`m.account_id = ${accountId} AND m.campaign_id = ${campaignId}`;
  return many(
    db,
    sql`WITH span AS (SELECT max(m.minute) - min(m.minute) AS length FROM campaign_minute m WHERE ${own}),
        b AS (SELECT coalesce((SELECT s FROM unnest(ARRAY['1 minute', '5 minutes', '15 minutes', '1 hour']::interval[]) AS s
                               WHERE span.length <= s * 119 ORDER BY s LIMIT 1), '6 hours') AS step FROM span)
        SELECT ${MINUTE}
        FROM b CROSS JOIN campaign_minute m WHERE ${own} GROUP BY b.step, 1 ORDER BY 1`,
  );
};

/** Time range in which inbound messages count as replies to a campaign, and the number of inbound messages examined. */
type Window = One & { readonly from: Date; readonly to: Date };

const ANSWERS = columns({
  people: as<number>('count(DISTINCT i.person)'),
  seen: as<number>('(SELECT count(*) FROM arrived)'),
});

/**
 * Counts the recipients of a campaign who wrote to the account within some time: only the newest `limit` inbound
 * messages of that time are examined (`seen`), each by its number, so a million recipients add no cost.
 */
const countAnswers = (
  db: Db,
  { accountId, campaignId, firstId, endId, limit }: One & { firstId: string; endId: string; limit: number },
): Promise<RowOf<typeof ANSWERS> | undefined> =>
  maybeOne(
    db,
    sql`WITH arrived AS MATERIALIZED (
          SELECT source FROM inbound_message
          WHERE account_id = ${accountId} AND id >= ${firstId}::uuid AND id < ${endId}::uuid ORDER BY id DESC LIMIT ${limit})
        SELECT ${ANSWERS} FROM (SELECT DISTINCT person_of('+' || ltrim(source, '+')) AS person FROM arrived) AS i
        WHERE ${isRecipient(accountId, campaignId, sql`i.person`)}`,
  );

/** Counts the recipients of a campaign who opted out by their own message within some time. */
const countOptOuts = (db: Db, { accountId, campaignId, from, to }: Window): Promise<{ people: number } | undefined> =>
  maybeOne(
    db,
    sql`SELECT count(DISTINCT o.person) AS people FROM opt_out o
        WHERE o.account_id = ${accountId} AND o.source = 'STOP' AND o.created_at >= ${from} AND o.created_at < ${to}
          AND ${isRecipient(accountId, campaignId, sql`o.person`)}`,
  );

/** Returns true if something was sent to a form of a number. Each country is tried: they lead the key. */
const isRecipient = (accountId: number, campaignId: number, number: ReturnType<typeof sql>) => sql`EXISTS (
  SELECT FROM campaign_lane n
  JOIN campaign_recipient r ON r.account_id = n.account_id AND r.campaign_id = n.campaign_id AND r.country = n.country
  WHERE n.account_id = ${accountId} AND n.campaign_id = ${campaignId} AND r.destination = ANY(number_forms(${number}))
    AND r.skip_reason IS NULL)`;

export const FunnelOut = Type.Object({
  recipients: count('Recipients to whom something is sent.'),
  skipped: count('Recipients to whom nothing is sent.'),
  waiting: count('Recipients without a message so far.'),
  steps: Type.Array(
    Type.Object({
      step: count('The position of the channel, from 1.'),
      channel: channelName(),
      attempted: count('Messages that were given to a carrier, or ended before that.'),
      delivered: count('Messages delivered, including those that were read.'),
      read: count('Messages read, as far as the channel reports it.'),
      failed: count('Messages that ended undelivered, including those followed by another channel.'),
      fellBack: count('Recipients for whom another channel followed.'),
      notTried: count('Of these, recipients whose message no carrier took within `fallback.maxWait`.'),
      pending: count('Messages given to a carrier whose final status is not known yet.'),
    }),
    { description: 'The channels of the sending mode, in the order in which they are tried.' },
  ),
});

const NO_FALLBACKS = { count: 0, notTried: 0 };
const NOTHING = { sent: 0, delivered: 0, read: 0, failed: 0, unsent: 0 };

/** Converts the figures of a campaign into the steps that its recipients go through. */
export function toFunnelOut({
  sendingMode,
  recipients,
  skipped,
  messages,
  traffic,
  fallbacks,
}: FunnelRow): Static<typeof FunnelOut> {
  const followed = fallbacks.reduce((sum, { count }) => sum + count, 0);
  const steps = chainOf(sendingMode).map((channel, i) => {
    const { sent, delivered, read, failed, unsent } = traffic.find((t) => t.channel === bitOf(channel)) ?? NOTHING;
    const { count: fellBack, notTried } = fallbacks.find((one) => one.channel === channel) ?? NO_FALLBACKS;
    const pending = sent - delivered - (failed - unsent);
    return { step: i + 1, channel, attempted: sent + unsent, delivered, read, failed, fellBack, notTried, pending };
  });
  return { recipients, skipped, waiting: Math.max(0, recipients - (messages - followed)), steps };
}

type ChannelFigures = {
  /** The bit of the channel (src/core/channels.ts). */
  readonly channel: number;
  readonly sent: number;
  readonly delivered: number;
  readonly read: number;
  readonly failed: number;
  readonly unsent: number;
};

/** Number of recipients for whom another channel followed, by the channel that they left. */
type FallbackFigures = { readonly channel: string; readonly count: number; readonly notTried: number };

const FUNNEL = columns({
  sendingMode: as<SendingMode>('c.sending_mode'),
  skipped: as<number>('coalesce(r.skipped, 0)'),
  /** Number of messages that were made, including those on later channels. */
  messages: as<number>('coalesce(r.messages, 0)'),
  /** Number of recipients to whom something is sent. */
  recipients: as<number>('CASE WHEN r.expanded THEN r.recipients - r.skipped - r.unmade ELSE c.total_destinations END'),
  traffic: as<readonly ChannelFigures[]>(`coalesce(t.rows, '[]')`),
  fallbacks: as<readonly FallbackFigures[]>(`coalesce(h.rows, '[]')`),
});
type FunnelRow = RowOf<typeof FUNNEL>;

/** Finds the figures of a campaign: the roll-ups of its hours, and one pass over the changes of channel. */
export const findFunnel = (
  db: Db,
  { accountId, campaignId }: { accountId: number; campaignId: number },
): Promise<FunnelRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${FUNNEL}
        FROM campaign c
        LEFT JOIN campaign_run r ON r.account_id = c.account_id AND r.campaign_id = c.id
        CROSS JOIN (
          SELECT jsonb_agg(q) AS rows FROM (
            SELECT channel, sum(sent) AS sent, sum(delivered) AS delivered, sum(read) AS read, sum(failed) AS failed,
                   sum(unsent) AS unsent
            FROM traffic_hour WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND campaign_id <> 0
            GROUP BY channel) AS q) AS t
        CROSS JOIN (
          SELECT jsonb_agg(q) AS rows FROM (
            SELECT from_channel AS channel, count(*) AS count,
                   count(*) FILTER (WHERE reason = ${NOT_TRIED}) AS "notTried"
            FROM campaign_fallback WHERE account_id = ${accountId} AND campaign_id = ${campaignId} GROUP BY 1) AS q) AS h
        WHERE c.account_id = ${accountId} AND c.id = ${campaignId}`,
  );
