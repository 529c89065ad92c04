import type { Db } from '../../platform/db/query.ts';
import { type BucketRow, listActiveHours, listBuckets, type StatsFilter } from './sql.ts';
import { HOUR_MS } from '../../platform/lib/time.ts';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** A page of the buckets that are not empty, and how many there are in all: whatever the range, in milliseconds. */
export async function findBuckets(db: Db, filter: StatsFilter): Promise<{ total: number; rows: BucketRow[] }> {
  if (filter.unit !== 'hour') return listBuckets(db, filter);
  const hours = hoursOf(await listActiveHours(db, filter));
  const { length: total } = hours;
  if (filter.descending) hours.reverse();
  const page = hours.slice(filter.offset, filter.offset + filter.limit);
  if (page.length === 0) return { total, rows: [] };
  const range = { from: new Date(Math.min(...page)), to: new Date(Math.max(...page) + HOUR_MS) };
  const { rows } = await listBuckets(db, { ...filter, ...range, offset: 0 });
  return { total, rows };
}

const hoursOf = (days: readonly { readonly day: string; readonly hours: number }[]): number[] =>
  days.flatMap(({ day, hours }) =>
    HOURS.filter((hour) => hours & (1 << hour)).map((hour) => Date.parse(day) + hour * HOUR_MS),
  );
