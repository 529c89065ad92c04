import { type Db, many, maybeOne, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

type One = { readonly accountId: number; readonly campaignId: number };

const SPAN = columns({ startedAt: as<Date | null>('k.started_at') });

/** Finds the start of a campaign; undefined when there is no such campaign. */
export const findSpan = (db: Db, { accountId, campaignId }: One): Promise<RowOf<typeof SPAN> | undefined> =>
  maybeOne(db, sql`SELECT ${SPAN} FROM campaign k WHERE k.account_id = ${accountId} AND k.id = ${campaignId}`);

const REASON = columns({
  /** The bit of the channel. */
  channel: as<number>('m.channel'),
  status: as<number>('m.status'),
  code: as<string>('m.code'),
  count: as<number>('sum(m.failed)::bigint'),
});
export type ReasonRow = RowOf<typeof REASON>;

/** Lists the reasons for which messages of a campaign failed, the most frequent first, up to `limit`. */
export const listReasons = (db: Db, { accountId, campaignId, limit }: One & { limit: number }): Promise<ReasonRow[]> =>
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
export type MinuteFigures = RowOf<typeof MINUTE>;

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
  people: as<number>('count(DISTINCT i.source)'),
  seen: as<number>('(SELECT count(*) FROM arrived)'),
});

/**
 * Counts the recipients of a campaign who wrote to the account within some time: only the newest `limit` inbound
 * messages of that time are examined (`seen`), each by its number, so a million recipients add no cost.
 */
export const countAnswers = (
  db: Db,
  { accountId, campaignId, firstId, endId, limit }: One & { firstId: string; endId: string; limit: number },
): Promise<RowOf<typeof ANSWERS> | undefined> =>
  maybeOne(
    db,
    sql`WITH arrived AS MATERIALIZED (
          SELECT source FROM inbound_message
          WHERE account_id = ${accountId} AND id >= ${firstId}::uuid AND id < ${endId}::uuid ORDER BY id DESC LIMIT ${limit})
        SELECT ${ANSWERS} FROM (SELECT DISTINCT source FROM arrived) AS i
        WHERE ${isRecipient(accountId, campaignId, sql`'+' || ltrim(i.source, '+')`)}`,
  );

/** Counts the recipients of a campaign who opted out by their own message within some time. */
export const countOptOuts = (
  db: Db,
  { accountId, campaignId, from, to }: Window,
): Promise<{ people: number } | undefined> =>
  maybeOne(
    db,
    sql`SELECT count(DISTINCT o.phone_number) AS people FROM opt_out o
        WHERE o.account_id = ${accountId} AND o.source = 'STOP' AND o.created_at >= ${from} AND o.created_at < ${to}
          AND ${isRecipient(accountId, campaignId, sql`o.phone_number`)}`,
  );

/** Returns true if a number is a recipient to whom something was sent. Each country is tried: they lead the key. */
const isRecipient = (accountId: number, campaignId: number, number: ReturnType<typeof sql>) => sql`EXISTS (
  SELECT FROM campaign_lane n
  JOIN campaign_recipient r ON r.account_id = n.account_id AND r.campaign_id = n.campaign_id AND r.country = n.country
  WHERE n.account_id = ${accountId} AND n.campaign_id = ${campaignId} AND r.destination = ${number}
    AND r.skip_reason IS NULL)`;
