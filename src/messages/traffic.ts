import { randomInt } from 'node:crypto';
import type { Pool } from 'pg';
import { type Task, untilIdle } from '../core/background.ts';
import {
  type BatchColumns,
  bigint,
  insertRows,
  once,
  type RowColumns,
  rowsOf,
  smallint,
  text,
  timestamptz,
  uuid,
} from '../core/db/columns.ts';
import { as, columns, type Db, exec, join, many, one, onePlan, type RowOf, raw, sql } from '../core/db/query.ts';
import { boundsOf, firstIdAt, timeOfId } from '../core/ids.ts';
import { callingCodeOf, numberForPrefix } from '../core/phone.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';

/** Addition of one message to the figures of the hour of its id; negative where an earlier figure proved wrong. */
export type TrafficDelta = {
  readonly accountId: number;
  readonly id: string;
  readonly campaignId: number | null;
  /** The bit of the channel (src/core/channels.ts). */
  readonly channel: number;
  /** The message has an outcome: accepted by a carrier, rejected, or unknown. */
  readonly sent?: number;
  readonly delivered?: number;
  readonly read?: number;
  /** The message has a final state other than delivered. */
  readonly failed?: number;
  /** The message is among `failed` and ended before any carrier had it. */
  readonly unsent?: number;
  readonly costMicros?: number;
  /** Reason why it is among `failed`; only campaigns count the reasons. */
  readonly reason?: FailureReason | undefined;
};

/** Shards, as in `credit_frozen`: the dispatcher and the receipts would otherwise wait for each other's commits. */
const SHARDS = 8;

/**
 * Adds to the hourly figures, and for campaigns to those of the minute, in the transaction that moves the messages, so
 * that they are exact at any instant. Simulated messages are not counted.
 *
 * Call it at most once in a transaction: the rows of one call are locked in the order of their keys, those of two calls
 * are not. Each batch takes one statement, with campaigns two, which are sent before this returns, as a `burst` needs
 * it.
 */
export async function countTraffic(tx: Db, deltas: readonly TrafficDelta[]): Promise<void> {
  const rows = [...sumUp(deltas)].sort(byKey);
  if (rows.length === 0) return;
  await Promise.all([insertTraffic(tx, { rows, shard: randomInt(SHARDS) }), countMinutes(tx, deltas)]);
}

/**
 * Sums up deltas. Most messages of a batch have the same key, so each is compared with the key of the one before it
 * first.
 */
function sumUp(deltas: readonly TrafficDelta[]): Iterable<TrafficRow> {
  const rows = new Map<string, TrafficRow>();
  let hour: Hour | undefined;
  let row: TrafficRow | undefined;
  for (const delta of deltas) {
    if (!hour || delta.id < hour.firstId || delta.id >= hour.endId) hour = hourOf(delta.id);
    if (!row || !isOf(row, delta, hour.at)) row = rowOf(rows, delta, hour.at);
    add(row, delta);
  }
  return rows.values();
}

type Hour = { readonly at: Date; readonly firstId: string; readonly endId: string };

function hourOf(id: string): Hour {
  const at = new Date(Math.floor(timeOfId(id).getTime() / HOUR_MS) * HOUR_MS);
  return { at, firstId: firstIdAt(at), endId: firstIdAt(new Date(at.getTime() + HOUR_MS)) };
}

const isOf = (row: TrafficRow, { accountId, campaignId, channel }: TrafficDelta, hour: Date): boolean =>
  row.hour === hour && row.accountId === accountId && row.campaignId === (campaignId ?? 0) && row.channel === channel;

const NOTHING = { sent: 0, delivered: 0, read: 0, failed: 0, unsent: 0, costMicros: 0 };

function rowOf(
  rows: Map<string, TrafficRow>,
  { accountId, campaignId, channel }: TrafficDelta,
  hour: Date,
): TrafficRow {
  const key = `${accountId}/${hour.getTime()}/${campaignId}/${channel}`;
  const known = rows.get(key);
  if (known) return known;
  const row = { accountId, hour, campaignId: campaignId ?? 0, channel, ...NOTHING };
  rows.set(key, row);
  return row;
}

function add(row: TrafficRow, { sent, delivered, read, failed, unsent, costMicros }: TrafficDelta): void {
  if (sent !== undefined) row.sent += sent;
  if (delivered !== undefined) row.delivered += delivered;
  if (read !== undefined) row.read += read;
  if (failed !== undefined) row.failed += failed;
  if (unsent !== undefined) row.unsent += unsent;
  if (costMicros !== undefined) row.costMicros += costMicros;
}

const byKey = (a: TrafficRow, b: TrafficRow): number =>
  a.accountId - b.accountId ||
  a.hour.getTime() - b.hour.getTime() ||
  a.campaignId - b.campaignId ||
  a.channel - b.channel;

/** Addition of a campaign's message to the minute in which its outcome became known. */
type MinuteDelta = {
  readonly accountId: number;
  readonly id: string;
  readonly campaignId: number | null;
  readonly channel: number;
  readonly sent?: number;
  readonly delivered?: number;
  readonly failed?: number;
  /** Reason why it is among `failed`. */
  readonly reason?: FailureReason | undefined;
};

/** The final status of a message that failed, and the code of the carrier or our own; null where there is none. */
type FailureReason = { readonly status: number; readonly code: string | null };

const MINUTE_SHARDS = 4;
const CODE_LENGTH = 40;

/**
 * Adds the outcomes of campaign messages to this minute, in the transaction that moves them, so that the figures are
 * exact at any instant and add up to the hourly ones. Messages without a campaign are omitted, and without any there is
 * no statement. It is sent before this returns, as a `burst` needs it. Call it after `insertTraffic`: the tables are
 * locked in this order.
 */
async function countMinutes(tx: Db, deltas: readonly MinuteDelta[]): Promise<void> {
  const rows = sumUpMinutes(deltas);
  if (rows.length > 0) await insertMinutes(tx, { rows, shard: randomInt(MINUTE_SHARDS) });
}

function sumUpMinutes(deltas: readonly MinuteDelta[]): MinuteRow[] {
  const rows = new Map<string, MinuteRow>();
  for (const delta of deltas) {
    if (delta.campaignId === null || delta.campaignId === 0) continue;
    const { sent = 0, delivered = 0, failed = 0, reason } = delta;
    if (sent !== 0 || delivered !== 0) {
      const row = minuteRowOf(rows, delta, delta.campaignId, PROGRESS);
      row.sent += sent;
      row.delivered += delivered;
    }
    if (failed !== 0) minuteRowOf(rows, delta, delta.campaignId, reason ?? PROGRESS).failed += failed;
  }
  return [...rows.values()];
}

/** Key of the rows that count messages without a reason. */
const PROGRESS: FailureReason = { status: 0, code: null };

function minuteRowOf(
  rows: Map<string, MinuteRow>,
  { accountId, id, channel }: MinuteDelta,
  campaignId: number,
  reason: FailureReason,
): MinuteRow {
  const hour = Math.floor(timeOfId(id).getTime() / HOUR_MS) * HOUR_MS;
  const code = (reason.code ?? '').slice(0, CODE_LENGTH);
  const key = `${campaignId}/${hour}/${channel}/${reason.status}/${code}`;
  const known = rows.get(key);
  if (known) return known;
  const row = { accountId, campaignId, hour: new Date(hour), channel, status: reason.status, code, ...NO_MINUTE };
  rows.set(key, row);
  return row;
}

const NO_MINUTE = { sent: 0, delivered: 0, failed: 0 };

/** Addition to the current minute of a campaign, a channel (its bit) and a reason. */
type MinuteRow = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly hour: Date;
  readonly channel: number;
  /** The status of messages that failed; 0 for the others. */
  readonly status: number;
  readonly code: string;
  sent: number;
  delivered: number;
  failed: number;
};

const MINUTE_FIELDS: BatchColumns<MinuteRow> = once({
  account_id: bigint((row) => row.accountId),
  campaign_id: bigint((row) => row.campaignId),
  hour: timestamptz((row) => row.hour),
  channel: smallint((row) => row.channel),
  status: smallint((row) => row.status),
  code: text((row) => row.code),
  sent: bigint((row) => row.sent),
  delivered: bigint((row) => row.delivered),
  failed: bigint((row) => row.failed),
});

/**
 * Adds to one shard of the current minute, or of the quarter of an hour if the hour of the messages ended more than an
 * hour ago. The rows are locked in the order of their keys.
 */
async function insertMinutes(db: Db, { rows, shard }: { rows: readonly MinuteRow[]; shard: number }): Promise<void> {
  await exec(
    db,
    onePlan(sql`INSERT INTO campaign_minute AS t
          (account_id, campaign_id, minute, channel, status, code, shard, sent, delivered, failed)
        SELECT u.account_id, u.campaign_id,
               CASE WHEN now() < u.hour + interval '2 hours' THEN date_trunc('minute', now())
                    ELSE date_bin('15 minutes', now(), u.hour) END,
               u.channel, u.status, u.code, ${shard}::smallint, sum(u.sent)::bigint, sum(u.delivered)::bigint,
               sum(u.failed)::bigint
        FROM ${rowsOf(rows, MINUTE_FIELDS)} AS u GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
        ON CONFLICT (account_id, campaign_id, minute, channel, status, code, shard) DO UPDATE
          SET sent = t.sent + excluded.sent, delivered = t.delivered + excluded.delivered,
              failed = t.failed + excluded.failed`),
  );
}

/** Addition to the margin of an account, a day (UTC), a connection and a country (its calling code). */
type MarginRow = {
  readonly accountId: number;
  readonly day: Date;
  readonly connectionId: number;
  readonly country: string;
  messages: number;
  units: number;
  uncosted: number;
  earnedMicros: number;
  costMicros: number;
};

const MARGIN_FIELDS: RowColumns<MarginRow> = once({
  accountId: bigint,
  day: timestamptz,
  connectionId: bigint,
  country: text,
  messages: bigint,
  units: bigint,
  uncosted: bigint,
  earnedMicros: bigint,
  costMicros: bigint,
});

/**
 * Adds to one shard of the days. The rows must be in the order of their keys, because they are locked in that order.
 */
async function insertMargins(db: Db, { rows, shard }: { rows: readonly MarginRow[]; shard: number }): Promise<void> {
  await exec(
    db,
    onePlan(sql`${insertRows('margin_day AS t', rows, MARGIN_FIELDS, { shard: sql`${shard}` })}
        ON CONFLICT (account_id, day, connection_id, country, shard) DO UPDATE
          SET messages = t.messages + excluded.messages, units = t.units + excluded.units,
              uncosted = t.uncosted + excluded.uncosted, earned_micros = t.earned_micros + excluded.earned_micros,
              cost_micros = t.cost_micros + excluded.cost_micros`),
  );
}

const EARNING_PLACE = columns({
  id: as<string>('s.id'),
  connectionId: as<number>('s.connection_id'),
  destination: as<string>('m.destination'),
});
/** The connection and the destination of a message. */
export type EarningPlace = RowOf<typeof EARNING_PLACE>;

type Key = { readonly accountId: number; readonly id: string };

/**
 * Lists the places of messages that went over connections with costs. Where no costs are set at all, no message is
 * read.
 */
export async function listEarningPlaces(db: Db, { keys }: { keys: readonly Key[] }): Promise<EarningPlace[]> {
  const [firstId, lastId] = boundsOf(keys.map(({ id }) => id));
  return many(
    db,
    sql`SELECT ${EARNING_PLACE}
        FROM ${rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) })} AS u
        JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id AND s.id BETWEEN ${firstId} AND ${lastId}
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id AND m.id BETWEEN ${firstId} AND ${lastId}
        WHERE EXISTS (SELECT FROM connection_cost)
          AND s.connection_id IN (SELECT connection_id FROM connection_cost)`,
  );
}

/**
 * Age after which an hour is folded: receipts arrive within minutes, so nearly all of an hour is known by then. Later
 * figures are folded later.
 */
const OPEN_MS = 2 * HOUR_MS;
const ROWS_PER_BATCH = 10_000;

/**
 * Folds the figures of past hours, one batch for each account that has any. No sum
 * changes. Several workers may fold at the same time. Returns how many rows were folded; 0 when there was nothing to
 * do.
 */
export async function foldTraffic(pool: Pool, now: () => Date): Promise<number> {
  const before = new Date(now().getTime() - OPEN_MS);
  let folded = 0;
  for (const accountId of await listUnfolded(pool, { before }))
    folded += await foldHours(pool, { accountId, before, limit: ROWS_PER_BATCH });
  return folded;
}

/** The shard of rows that were folded. */
const FOLDED_SHARD = -1;

const COUNTS = ['sent', 'delivered', 'read', 'failed', 'unsent', 'cost_micros'];
const NAMES = join(COUNTS.map((name) => raw(name)));
const SUMS = join(COUNTS.map((name) => raw(`sum(${name})::bigint`)));
const ADDED = join(COUNTS.map((name) => raw(`${name} = own.${name} + excluded.${name}`)));

/** Lists the accounts that have rows of hours before `before` which are not folded yet. */
export async function listUnfolded(db: Db, { before }: { before: Date }): Promise<number[]> {
  const rows = await many<{ accountId: number }>(
    db,
    sql`SELECT DISTINCT account_id AS "accountId" FROM traffic_hour WHERE shard >= 0 AND hour < ${before}`,
  );
  return rows.map(({ accountId }) => accountId);
}

/**
 * Folds up to `limit` rows of an account, oldest first. Returns how many. It waits for no writer: rows that a writer
 * has locked are left for the next time. A writer's additions to a row that is being folded become a new row after the
 * commit.
 */
export async function foldHours(
  db: Db,
  { accountId, before, limit }: { accountId: number; before: Date; limit: number },
): Promise<number> {
  const { folded } = await one<{ folded: number }>(
    db,
    sql`WITH open AS (
          SELECT account_id, hour, campaign_id, channel, shard FROM traffic_hour
          WHERE account_id = ${accountId} AND shard >= 0 AND hour < ${before}
          ORDER BY hour LIMIT ${limit} FOR UPDATE SKIP LOCKED),
        taken AS (
          DELETE FROM traffic_hour t USING open o
          WHERE t.account_id = o.account_id AND t.hour = o.hour AND t.campaign_id = o.campaign_id
            AND t.channel = o.channel AND t.shard = o.shard
          RETURNING t.*),
        hours AS (
          INSERT INTO traffic_hour AS own (account_id, hour, campaign_id, channel, shard, ${NAMES})
          SELECT account_id, hour, campaign_id, channel, ${FOLDED_SHARD}::smallint, ${SUMS}
          FROM taken GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
          ON CONFLICT (account_id, hour, campaign_id, channel, shard) DO UPDATE SET ${ADDED}),
        days AS (
          INSERT INTO traffic_day AS own (account_id, day, campaign_id, channel, hours, ${NAMES})
          SELECT account_id, (hour AT TIME ZONE 'UTC')::date, campaign_id, channel,
            bit_or(1 << extract(hour FROM hour AT TIME ZONE 'UTC')::int), ${SUMS}
          FROM taken GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
          ON CONFLICT (account_id, day, campaign_id, channel) DO UPDATE
            SET hours = own.hours | excluded.hours, ${ADDED})
        SELECT count(*) AS folded FROM taken`,
  );
  return folded;
}

/** Folds the figures of past hours into days. */
export const trafficTasks = ({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] => [
  { name: 'traffic', work: untilIdle(() => foldTraffic(pool, now), 10 * MINUTE_MS) },
];

/** Addition to the figures of an account, an hour, a campaign (0: none) and a channel (its bit). */
type TrafficRow = {
  readonly accountId: number;
  readonly hour: Date;
  readonly campaignId: number;
  readonly channel: number;
  sent: number;
  delivered: number;
  read: number;
  failed: number;
  unsent: number;
  costMicros: number;
};

const TRAFFIC_FIELDS: RowColumns<TrafficRow> = once({
  accountId: bigint,
  hour: timestamptz,
  campaignId: bigint,
  channel: smallint,
  sent: bigint,
  delivered: bigint,
  read: bigint,
  failed: bigint,
  unsent: bigint,
  costMicros: bigint,
});

/**
 * Adds to one shard of the hours. The rows must be in the order of their keys, because they are locked in that order.
 */
async function insertTraffic(db: Db, { rows, shard }: { rows: readonly TrafficRow[]; shard: number }): Promise<void> {
  await exec(
    db,
    onePlan(sql`${insertRows('traffic_hour AS t', rows, TRAFFIC_FIELDS, { shard: sql`${shard}` })}
        ON CONFLICT (account_id, hour, campaign_id, channel, shard) DO UPDATE
          SET sent = t.sent + excluded.sent, delivered = t.delivered + excluded.delivered, read = t.read + excluded.read,
              failed = t.failed + excluded.failed, unsent = t.unsent + excluded.unsent,
              cost_micros = t.cost_micros + excluded.cost_micros`),
  );
}

/** Addition of one message to the margin of its day; negative where an earlier figure proved wrong. */
export type MarginDelta = {
  readonly accountId: number;
  readonly id: string;
  readonly connectionId: number;
  /** E.164 with its plus, or a user id. */
  readonly destination: string;
  readonly messages: number;
  /** E.164 with its plus, or a user id. */
  readonly units: number;
  /** Units by which the carrier charges it: parts on SMS. */
  readonly uncosted: number;
  readonly earnedMicros: number;
  readonly costMicros: number;
};

/**
 * Adds to the daily margins in the transaction that settles the messages. Call it at most once in a transaction and
 * after `countTraffic`: rows are locked in the order of their keys, and the tables in this order. A batch takes one
 * statement, and none where no costs are known; it is sent before this returns, as a `burst` needs it.
 */
export async function countMargins(tx: Db, deltas: readonly MarginDelta[]): Promise<void> {
  const rows = sumUpMargins(deltas).sort(byMarginKey);
  if (rows.length > 0) await insertMargins(tx, { rows, shard: randomInt(SHARDS) });
}

function sumUpMargins(deltas: readonly MarginDelta[]): MarginRow[] {
  const rows = new Map<string, MarginRow>();
  for (const delta of deltas) {
    const row = marginRowOf(rows, delta);
    row.messages += delta.messages;
    row.units += delta.units;
    row.uncosted += delta.uncosted;
    row.earnedMicros += delta.earnedMicros;
    row.costMicros += delta.costMicros;
  }
  return [...rows.values()];
}

const NO_MARGIN = { messages: 0, units: 0, uncosted: 0, earnedMicros: 0, costMicros: 0 };

function marginRowOf(
  rows: Map<string, MarginRow>,
  { accountId, id, connectionId, destination }: MarginDelta,
): MarginRow {
  const country = callingCodeOf(numberForPrefix(destination).slice(1)) ?? '';
  const dayNumber = Math.floor(timeOfId(id).getTime() / DAY_MS);
  const key = `${accountId}/${dayNumber}/${connectionId}/${country}`;
  const known = rows.get(key);
  if (known) return known;
  const row = { accountId, day: new Date(dayNumber * DAY_MS), connectionId, country, ...NO_MARGIN };
  rows.set(key, row);
  return row;
}

const byMarginKey = (a: MarginRow, b: MarginRow): number =>
  a.accountId - b.accountId ||
  a.day.getTime() - b.day.getTime() ||
  a.connectionId - b.connectionId ||
  (a.country < b.country ? -1 : Number(a.country > b.country));
