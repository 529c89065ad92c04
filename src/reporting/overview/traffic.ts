import { bitOf, CHANNELS } from '../../platform/lib/channel.ts';
import { firstIdAt, timeOfId } from '../../platform/lib/ids.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import type { Db } from '../../platform/db/query.ts';
import type { OverviewOut } from './schema.ts';
import { countAccepted, type HourRow } from './sql.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../platform/lib/time.ts';

const startOf = (at: number, unitMs: number): Date => new Date(Math.floor(at / unitMs) * unitMs);
const midnightOf = (now: Date): Date => startOf(now.getTime(), DAY_MS);
/** Of the first hour of so many, this one included. */
const startOfSeries = (now: Date, hours: number): Date => startOf(now.getTime() - (hours - 1) * HOUR_MS, HOUR_MS);

/** Counters begin here, so that they can be compared until the day is over. */
export const startOfYesterday = (now: Date): Date => new Date(midnightOf(now).getTime() - DAY_MS);

/** Everything that is told of traffic is in the hours from here on. */
export const firstHourNeeded = (now: Date, hours: number): Date =>
  new Date(Math.min(startOfSeries(now, hours).getTime(), startOfYesterday(now).getTime()));

const sum = (rows: readonly HourRow[], of: (row: HourRow) => number): number =>
  rows.reduce((total, row) => total + of(row), 0);

const since = (rows: readonly HourRow[], from: Date): readonly HourRow[] => rows.filter(({ hour }) => hour >= from);

/** What came of today's messages. */
export function totalsOfToday(all: readonly HourRow[], now: Date): OverviewOut['totals']['today'] {
  const rows = since(all, midnightOf(now));
  const [sent, delivered] = [sum(rows, (row) => row.sent), sum(rows, (row) => row.delivered)];
  const [failed, unsent] = [sum(rows, (row) => row.failed), sum(rows, (row) => row.unsent)];
  const cost = fromMicros(sum(rows, (row) => row.costMicros));
  return { sent, delivered, failed, pending: sent - delivered - (failed - unsent), cost };
}

/** What the last 24 hours cost. */
export const lastDayCostMicros = (all: readonly HourRow[], now: Date): number =>
  sum(since(all, startOfSeries(now, 24)), (row) => row.costMicros);

/** What has been delivered and has failed of the messages since yesterday: both only grow. */
export function countEndsSince(all: readonly HourRow[], from: Date): readonly [delivered: number, failed: number] {
  const rows = since(all, from);
  return [sum(rows, (row) => row.delivered), sum(rows, (row) => row.failed)];
}

/** Every hour with every channel. */
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

/** As many are counted, in some milliseconds; where they came faster, their own time is the time that they are counted by. */
const MOST_COUNTED = 2000;

/** Messages accepted a second in the last minute. */
export async function acceptedPerSecond(db: Db, accountId: number, now: Date): Promise<number> {
  const firstId = firstIdAt(new Date(now.getTime() - MINUTE_MS));
  const { count, seen, oldestId } = await countAccepted(db, { accountId, firstId, most: MOST_COUNTED });
  const isCut = seen === MOST_COUNTED && oldestId !== null;
  const spanMs = isCut ? now.getTime() - timeOfId(oldestId).getTime() : MINUTE_MS;
  return perSecond((count * 1000) / Math.max(1, spanMs));
}

export const perSecond = (rate: number): number => Math.round(rate * 100) / 100;
