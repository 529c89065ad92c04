import type { Db } from '../../platform/db/query.ts';
import { bitOf, CHANNELS } from '../../platform/lib/channel.ts';
import { firstIdAt, timeOfId } from '../../platform/lib/ids.ts';
import { amountFor, type AmountReader } from '../../platform/lib/amounts.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../platform/lib/time.ts';
import type { OverviewOut } from './schema.ts';
import { countAccepted, type HourRow } from './sql.ts';

const startOf = (at: number, unitMs: number): Date => new Date(Math.floor(at / unitMs) * unitMs);
const midnightOf = (now: Date): Date => startOf(now.getTime(), DAY_MS);
/** The start of the first of the last `hours` hours, which include the current one. */
const startOfSeries = (now: Date, hours: number): Date => startOf(now.getTime() - (hours - 1) * HOUR_MS, HOUR_MS);

/** The counters of the rates begin here, so that they can be compared throughout the day. */
export const startOfYesterday = (now: Date): Date => new Date(midnightOf(now).getTime() - DAY_MS);

/** The first hour that any figure of the overview needs. */
export const firstHourNeeded = (now: Date, hours: number): Date =>
  new Date(Math.min(startOfSeries(now, hours).getTime(), startOfYesterday(now).getTime()));

const sum = (rows: readonly HourRow[], of: (row: HourRow) => number): number =>
  rows.reduce((total, row) => total + of(row), 0);

const since = (rows: readonly HourRow[], from: Date): readonly HourRow[] => rows.filter(({ hour }) => hour >= from);

/** Adds up the figures of today's messages, as this caller may see them. */
export function totalsOfToday(
  all: readonly HourRow[],
  now: Date,
  reader: AmountReader,
): OverviewOut['totals']['today'] {
  const rows = since(all, midnightOf(now));
  const [sent, delivered] = [sum(rows, (row) => row.sent), sum(rows, (row) => row.delivered)];
  const [failed, unsent] = [sum(rows, (row) => row.failed), sum(rows, (row) => row.unsent)];
  const cost = amountFor(
    reader,
    sum(rows, (row) => row.costMicros),
  );
  return { sent, delivered, failed, pending: sent - delivered - (failed - unsent), cost };
}

/** Adds up the cost of the last 24 hours. */
export const lastDayCostMicros = (all: readonly HourRow[], now: Date): number =>
  sum(since(all, startOfSeries(now, 24)), (row) => row.costMicros);

/** Counts the messages accepted from `from` on that were delivered and that have failed. Both numbers only grow. */
export function countEndsSince(all: readonly HourRow[], from: Date): readonly [delivered: number, failed: number] {
  const rows = since(all, from);
  return [sum(rows, (row) => row.delivered), sum(rows, (row) => row.failed)];
}

/** Makes an entry for every hour and every channel, with zeros where nothing was sent. */
export function seriesOf(all: readonly HourRow[], now: Date, hours: number): OverviewOut['series'] {
  const known = new Map(all.map((row) => [`${row.hour.getTime()}/${row.channel}`, row]));
  const start = startOfSeries(now, hours).getTime();
  return Array.from({ length: hours }, (_, i) => start + i * HOUR_MS).flatMap((at) =>
    CHANNELS.map((channel) => {
      const { sent = 0, delivered = 0, failed = 0 } = known.get(`${at}/${bitOf(channel)}`) ?? {};
      return { bucket: new Date(at).toISOString(), channel, sent, delivered, failed };
    }),
  );
}

/** Counting this many takes a few milliseconds. When more were accepted, the rate is over the time that these took. */
const MAX_COUNTED = 2000;

/** Computes the rate at which messages were accepted in the last minute. */
export async function acceptedPerSecond(db: Db, accountId: number, now: Date): Promise<number> {
  const firstId = firstIdAt(new Date(now.getTime() - MINUTE_MS));
  const { count, seen, oldestId } = await countAccepted(db, { accountId, firstId, limit: MAX_COUNTED });
  const isCut = seen === MAX_COUNTED && oldestId !== null;
  const spanMs = isCut ? now.getTime() - timeOfId(oldestId).getTime() : MINUTE_MS;
  return roundRate((count * 1000) / Math.max(1, spanMs));
}

/** Rounds a rate to two decimals. */
export const roundRate = (rate: number): number => Math.round(rate * 100) / 100;
