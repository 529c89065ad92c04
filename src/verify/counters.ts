import { LRUCache } from 'lru-cache';
import { bigint, int, rowsOf, smallint, text, timestamptz } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, raw, type RowOf, sql, textArray } from '../core/db/query.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import type { Baseline, Counts, Kind, Range, Signals } from './guard.ts';

/** Time after which it is known whether a code is entered: nine of ten people enter it within two minutes. */
export const KNOWN_AFTER_MS = 3 * MINUTE_MS;
/** The length of the counters, in minutes: short ones for the last hour, long ones for a day and the baseline. */
const SHORT = 1;
const LONG = 60;
/** Age of short counters that are still read. */
const SHORT_MS = HOUR_MS + 4 * MINUTE_MS;

/** Increments of the counters of a send, at the time of that send. */
type Added = {
  readonly sent?: number;
  readonly approved?: number;
  readonly delivered?: number;
  readonly failed?: number;
  readonly micros?: number;
};

/** What a send adds to the counters of its keys. */
export type Addition = Added & {
  readonly accountId: number;
  readonly keys: ReadonlyMap<Kind, string>;
  readonly at: Date;
};

type Count = Required<Added> & {
  readonly accountId: number;
  readonly kind: string;
  readonly key: string;
  readonly minutes: number;
  readonly at: Date;
};

/** Returns the beginning of the counter of a length that contains an instant. */
const startOf = (at: Date, minutes: number): Date =>
  new Date(Math.floor(at.getTime() / (minutes * MINUTE_MS)) * minutes * MINUTE_MS);

const countsOf = ({ accountId, keys, at, ...added }: Addition): Count[] =>
  [...keys].flatMap(([kind, key]) =>
    [SHORT, LONG].map((minutes) => ({ ...NOTHING, ...added, accountId, kind, key, minutes, at: startOf(at, minutes) })),
  );

const NOTHING: Required<Added> = { sent: 0, approved: 0, delivered: 0, failed: 0, micros: 0 };

/** The order in which all transactions lock counters. */
const placeOf = ({ accountId, kind, key, minutes, at }: Count): string =>
  [String(accountId).padStart(20, '0'), kind, key, String(minutes).padStart(2, '0'), at.toISOString()].join('\0');

/**
 * Adds to the counters of sends, in one statement that locks the rows in the order of all others: a transaction calls it
 * once, and late, since all sends of an account lock the same rows.
 */
export async function addToCounters(tx: Db, additions: readonly Addition[]): Promise<void> {
  if (additions.length === 0) return;
  const groups = [...Map.groupBy(additions.flatMap(countsOf), placeOf)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const rows = groups.flatMap(([, [first, ...more]]) => (first ? [more.reduce(sumOf, first)] : []));
  await exec(
    tx,
    sql`INSERT INTO verify_counter AS c (account_id, kind, key, minutes, at, sent, approved, delivered, failed, micros)
        SELECT u.account_id, u.kind, u.key, u.minutes, u.at, u.sent, u.approved, u.delivered, u.failed, u.micros
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          kind: text((r) => r.kind),
          key: text((r) => r.key),
          minutes: smallint((r) => r.minutes),
          at: timestamptz((r) => r.at),
          sent: int((r) => r.sent),
          approved: int((r) => r.approved),
          delivered: int((r) => r.delivered),
          failed: int((r) => r.failed),
          micros: bigint((r) => r.micros),
        })} AS u
        ON CONFLICT (account_id, kind, key, minutes, at) DO UPDATE
          SET sent = c.sent + excluded.sent, approved = c.approved + excluded.approved,
              delivered = c.delivered + excluded.delivered, failed = c.failed + excluded.failed,
              micros = c.micros + excluded.micros`,
  );
}

const sumOf = (a: Count, b: Count): Count => ({
  ...a,
  sent: a.sent + b.sent,
  approved: a.approved + b.approved,
  delivered: a.delivered + b.delivered,
  failed: a.failed + b.failed,
  micros: a.micros + b.micros,
});

/** Sums of the counters of one key. `short` are those of minutes, `long` those of hours. */
type Sums = {
  kind: string;
  ten: number;
  hour: number;
  tenApproved: number;
  tenSent: number;
  tenKnownApproved: number;
  hourSent: number;
  hourApproved: number;
  daySent: number;
  dayApproved: number;
  youngSent: number;
  youngApproved: number;
  delivered: number;
  failed: number;
  hourMicros: number;
  dayMicros: number;
};

/** Reads the counters of these keys as of an instant. */
async function readCounts(
  db: Db,
  accountId: number,
  keys: ReadonlyMap<Kind, string>,
  now: Date,
): Promise<ReadonlyMap<Kind, Counts>> {
  const ago = (ms: number): Date => new Date(now.getTime() - ms);
  const known = ago(KNOWN_AFTER_MS);
  const since = (column: string, from: Date, until: Date = now) =>
    sql`coalesce(sum(${raw(column)}) FILTER (WHERE c.minutes = 1 AND c.at > ${from} AND c.at <= ${until}), 0)::bigint`;
  const day = (column: string) => sql`coalesce(sum(${raw(column)}) FILTER (WHERE c.minutes = 60), 0)::bigint`;
  const rows = await many<Sums>(
    db,
    sql`SELECT u.kind, ${since('sent', ago(10 * MINUTE_MS))} AS ten, ${since('sent', ago(HOUR_MS))} AS hour,
               ${since('approved', ago(10 * MINUTE_MS))} AS "tenApproved",
               ${since('sent', ago(10 * MINUTE_MS + KNOWN_AFTER_MS), known)} AS "tenSent",
               ${since('approved', ago(10 * MINUTE_MS + KNOWN_AFTER_MS), known)} AS "tenKnownApproved",
               ${since('sent', ago(HOUR_MS + KNOWN_AFTER_MS), known)} AS "hourSent",
               ${since('approved', ago(HOUR_MS + KNOWN_AFTER_MS), known)} AS "hourApproved",
               ${day('sent')} AS "daySent", ${day('approved')} AS "dayApproved",
               ${since('sent', known)} AS "youngSent", ${since('approved', known)} AS "youngApproved",
               ${since('delivered', ago(10 * MINUTE_MS + KNOWN_AFTER_MS), known)} AS delivered,
               ${since('failed', ago(10 * MINUTE_MS + KNOWN_AFTER_MS), known)} AS failed,
               ${since('micros', ago(HOUR_MS))} AS "hourMicros", ${day('micros')} AS "dayMicros"
        FROM ${rowsOf([...keys], { kind: text(([kind]) => kind), key: text(([, key]) => key) })} AS u
        JOIN verify_counter c ON c.account_id = ${accountId} AND c.kind = u.kind AND c.key = u.key
          AND (c.minutes = 1 AND c.at > ${ago(SHORT_MS)} OR c.minutes = 60 AND c.at > ${ago(DAY_MS)})
        GROUP BY u.kind`,
  );
  return new Map(rows.map((row) => [row.kind as Kind, toCounts(row)]));
}

const toCounts = (row: Sums): Counts => ({
  ten: row.ten,
  hour: row.hour,
  tenApproved: row.tenApproved,
  known: {
    ten: { sent: row.tenSent, approved: row.tenKnownApproved },
    hour: { sent: row.hourSent, approved: row.hourApproved },
    day: { sent: Math.max(0, row.daySent - row.youngSent), approved: Math.max(0, row.dayApproved - row.youngApproved) },
  },
  delivered: row.delivered,
  failed: row.failed,
  hourMicros: row.hourMicros,
  dayMicros: row.dayMicros,
});

/** The conversion that is assumed where there is no history. */
export const DEFAULT_BASELINE: Baseline = { conversion: 0.6, perHour: 0, delivered: 0, source: 'default' };
/** A history of attacks must not make the next one look usual. */
const LEAST_CONVERSION = 0.3;
/** Sends that make a history. */
const MIN_HISTORY = 50;
const HISTORY_MS = 28 * DAY_MS;
const HISTORY_HOURS = 27 * 24;

const HISTORY = columns({
  key: as<string>('key'),
  sent: as<number>('sum(sent)::bigint'),
  approved: as<number>('sum(approved)::bigint'),
  delivered: as<number>('sum(delivered)::bigint'),
  hours: as<number>('least(extract(epoch FROM max(at) - min(at)) / 3600 + 1, 672)::float8'),
});

/** Finds what is usual for an account by country, of 28 days without the last one. */
export type Baselines = {
  /** `country`: the key of its counters. */
  of(db: Db, accountId: number, country: string, now: Date): Promise<Baseline>;
};

const CACHE_MS = MINUTE_MS;

/** Creates the baselines; what was read is kept for a minute. */
export function createBaselines(): Baselines {
  const known = new LRUCache<number, { readonly rows: Map<string, RowOf<typeof HISTORY>>; readonly at: number }>({
    max: 10_000,
  });
  return {
    async of(db, accountId, country, now) {
      let found = known.get(accountId);
      if (!found || Math.abs(now.getTime() - found.at) > CACHE_MS) {
        const rows = await listHistory(db, accountId, now);
        found = { rows: new Map(rows.map((row) => [row.key, row])), at: now.getTime() };
        known.set(accountId, found);
      }
      return baselineOf(found.rows, country);
    },
  };
}

/** The beginning of the keys of plain messages, which count apart. */
export const PLAIN = 'plain/';

function baselineOf(rows: ReadonlyMap<string, RowOf<typeof HISTORY>>, key: string): Baseline {
  const own = rows.get(key);
  if (own && own.sent >= MIN_HISTORY) return toBaseline(own, own, 'country');
  const isPlain = key.startsWith(PLAIN);
  const all = [...rows.values()]
    .filter((row) => row.key.startsWith(PLAIN) === isPlain)
    .reduce(
      (sum, row) => ({
        sent: sum.sent + row.sent,
        approved: sum.approved + row.approved,
        delivered: sum.delivered + row.delivered,
      }),
      { sent: 0, approved: 0, delivered: 0 },
    );
  const perHour = own ? own.sent / Math.max(own.hours, 24) : 0;
  if (all.sent < MIN_HISTORY) return { ...DEFAULT_BASELINE, perHour };
  return { ...toBaseline(all, { sent: 0, hours: HISTORY_HOURS }, 'account'), perHour };
}

type Summed = { readonly sent: number; readonly approved: number; readonly delivered: number };

const toBaseline = (
  { sent, approved, delivered }: Summed,
  rate: { readonly sent: number; readonly hours: number },
  source: Baseline['source'],
): Baseline => ({
  conversion: Math.max(LEAST_CONVERSION, approved / sent),
  perHour: rate.sent / Math.max(rate.hours, 24),
  delivered: delivered / sent,
  source,
});

const listHistory = (db: Db, accountId: number, now: Date): Promise<RowOf<typeof HISTORY>[]> =>
  many(
    db,
    sql`SELECT ${HISTORY} FROM verify_counter
        WHERE account_id = ${accountId} AND kind = 'country' AND minutes = 60
          AND at > ${new Date(now.getTime() - HISTORY_MS)} AND at <= ${new Date(now.getTime() - DAY_MS)}
        GROUP BY key HAVING sum(sent) > 0`,
  );

const RANGE = columns({
  prefix: as<string>('r.prefix'),
  state: as<Range['state']>('r.state'),
  level: as<number>('r.level'),
  since: as<Date>('r.since'),
  until: as<Date | null>('r.until'),
  probes: as<Date[]>('r.probes'),
  stopped: as<number>('r.stopped'),
});

type Wanted = {
  readonly keys: ReadonlyMap<Kind, string>;
  readonly prefixes: readonly string[];
  readonly now: Date;
  readonly baselines: Baselines;
};

/** Reads everything that the guard needs about a send. */
export async function readSignals(
  db: Db,
  accountId: number,
  { keys, prefixes, now, baselines }: Wanted,
): Promise<Signals> {
  const [counts, ranges, baseline] = await Promise.all([
    readCounts(db, accountId, keys, now),
    many(
      db,
      sql`SELECT ${RANGE} FROM verify_range r
          WHERE r.account_id = ${accountId} AND r.prefix = ANY(${textArray(prefixes)}::text[])`,
    ),
    baselines.of(db, accountId, keys.get('country') ?? '-', now),
  ]);
  return { of: (kind) => counts.get(kind), ranges: new Map(ranges.map((range) => [range.prefix, range])), baseline };
}

/** Deletes counters that nothing reads any more: only those of countries have a history. Returns how many. */
export const deleteOldCounters = (db: Db, now: Date, limit: number): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM verify_counter WHERE ctid IN (
          SELECT ctid FROM verify_counter
          WHERE minutes = ${SHORT} AND at < ${new Date(now.getTime() - 2 * HOUR_MS)}
             OR minutes = ${LONG} AND at < ${new Date(now.getTime() - 2 * DAY_MS)} AND kind <> 'country'
             OR minutes = ${LONG} AND at < ${new Date(now.getTime() - HISTORY_MS)}
          LIMIT ${limit})`,
  );
