import type { Pool } from 'pg';
import { bigint, insertRows, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, one, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { notifyRoutingChange } from './connection-store.ts';
import { listPolicies, type Policy } from './policies.ts';

/** Makes the key of a standing: of a connection, by a policy, in a country. */
export const keyOf = (row: {
  readonly policyId: number;
  readonly connectionId: number;
  readonly country: string;
}): string => `${row.policyId}/${row.connectionId}/${row.country}`;

/**
 * Recomputes the standings of connections by the policies by cost; running processes follow immediately when one has
 * changed. One worker at a time does it. Returns how many standings have changed.
 */
export function moveStandings(pool: Pool): Promise<number> {
  return transaction(pool, async (tx) => {
    if (!(await claimStandings(tx))) return 0;
    const [policies, figures, before] = [await listPolicies(tx), await listFigures(tx), await listStandings(tx)];
    const known = new Map(before.map((row) => [keyOf(row), row]));
    const policyOf = new Map(policies.map((policy) => [policy.id, policy]));
    const rows = figures.flatMap((row) => {
      const policy = policyOf.get(row.policyId);
      return policy
        ? [{ ...row, standing: nextStanding(known.get(keyOf(row))?.standing ?? 'trial', row, policy) }]
        : [];
    });
    const current = new Set(rows.map(keyOf));
    const gone = before.filter((row) => !current.has(keyOf(row)));
    await insertStandings(tx, rows);
    if (gone.length > 0) await deleteStandings(tx, gone);
    const moved = rows.filter((row) => row.standing !== (known.get(keyOf(row))?.standing ?? 'trial')).length;
    const changed = moved + gone.filter(({ standing }) => standing !== 'trial').length;
    if (changed > 0) await notifyRoutingChange(tx);
    return changed;
  });
}

/**
 * Standing of a connection in a country: `good`: at the floor of its policy or above it; `below`; or on `trial`,
 * because there are too few samples.
 */
export type Standing = 'good' | 'trial' | 'below';

/** Totals of samples: their number, the number delivered, and the sum of the times to their receipts. */
export type Quality = { readonly messages: number; readonly delivered: number; readonly receiptMs: number };

/**
 * Margin above the floor that is needed to rise above it again, in thousandths: three points, or half of the way to 100
 * %.
 */
const MARGIN = 30;
/** Factor of the floor's time that receipts must stay within to rise above it again. */
const FASTER = 0.9;

/** Returns the share of messages that was delivered, from 0 to 1; null without messages. */
export const deliveredShare = ({ messages, delivered }: Quality): number | null =>
  messages === 0 ? null : delivered / messages;

/** Returns how many seconds receipts took on average; null without any. */
export const receiptSeconds = ({ delivered, receiptMs }: Quality): number | null =>
  delivered === 0 ? null : receiptMs / delivered / 1000;

/**
 * Returns the next standing of a connection. It falls below the floor as soon as it is under it, and rises only when it
 * is clearly above: a connection at the floor does not change with every sample.
 */
export function nextStanding(before: Standing, quality: Quality, policy: Policy): Standing {
  if (quality.messages < policy.minSamples) return 'trial';
  const rises = before === 'below';
  const least = rises ? policy.minDelivered + Math.min(MARGIN, (1000 - policy.minDelivered) / 2) : policy.minDelivered;
  const most = (policy.maxReceiptSeconds ?? Number.POSITIVE_INFINITY) * (rises ? FASTER : 1);
  // Compared as whole numbers: as a share, 80 % and 3 % are a little more than 83 %.
  const delivers = quality.delivered * 1000 >= least * quality.messages;
  return delivers && (receiptSeconds(quality) ?? 0) <= most ? 'good' : 'below';
}

const STANDING = columns({
  policyId: as<number>('s.policy_id'),
  connectionId: as<number>('s.connection_id'),
  /** The calling code. */
  country: as<string>('s.country'),
  standing: as<Standing>('s.standing'),
  messages: as<number>('s.messages'),
  delivered: as<number>('s.delivered'),
  receiptMs: as<number>('s.receipt_ms'),
});
export type StandingRow = RowOf<typeof STANDING>;

/** Lists the standings of connections. A connection that is missing is on trial. */
export async function listStandings(db: Db): Promise<StandingRow[]> {
  return many(db, sql`SELECT ${STANDING} FROM route_standing s`);
}

/** Claims the right to change standings until the end of the transaction; false when another worker has it. */
async function claimStandings(db: Db): Promise<boolean> {
  return (await one<{ mine: boolean }>(db, sql`SELECT pg_try_advisory_xact_lock(724908, 2) AS mine`)).mine;
}

const FIGURES = columns({
  policyId: as<number>('f.policy_id'),
  connectionId: as<number>('f.connection_id'),
  country: as<string>('f.country'),
  messages: as<number>('sum(f.messages)::bigint'),
  delivered: as<number>('sum(f.delivered)::bigint'),
  receiptMs: as<number>('sum(f.receipt_ms)::bigint'),
});
type FiguresRow = RowOf<typeof FIGURES>;

/**
 * Number of newest samples that decide, as a multiple of the minimum: of 500 samples, chance moves a share of 80 % by
 * two points, of fewer by more; with all of three hours, a carrier that delivers nothing any more would stay above a
 * floor of 80 % for half an hour.
 */
const NEWEST = 10;

/**
 * Lists the quality of connections by each policy by cost, in the countries of its prefix: that of their newest
 * samples, in whole slots of ten minutes, within the hours of the policy.
 */
async function listFigures(db: Db): Promise<FiguresRow[]> {
  return many(
    db,
    sql`SELECT ${FIGURES}
        FROM (SELECT p.id AS policy_id, p.min_samples, q.connection_id, q.country, q.messages, q.delivered, q.receipt_ms,
                     sum(q.messages) OVER (PARTITION BY p.id, q.connection_id, q.country ORDER BY q.slot DESC)
                       - q.messages AS newer
              FROM route_policy p
              JOIN connection_quality q ON q.slot > now() - make_interval(hours => p.hours)
                AND (starts_with(q.country, p.prefix) OR starts_with(p.prefix, q.country))
              JOIN connection c ON c.id = q.connection_id
              WHERE p.policy = 'least-cost') AS f
        WHERE f.newer < ${NEWEST}::int * f.min_samples
        GROUP BY f.policy_id, f.connection_id, f.country`,
  );
}

/** Inserts standings, or changes those that exist. */
async function insertStandings(db: Db, rows: readonly StandingRow[]): Promise<void> {
  if (rows.length === 0) return;
  await exec(
    db,
    sql`${insertRows('route_standing AS s', rows, {
      policyId: bigint,
      connectionId: bigint,
      country: text,
      standing: text,
      messages: bigint,
      delivered: bigint,
      receiptMs: bigint,
    })} ON CONFLICT (policy_id, connection_id, country) DO UPDATE
          SET standing = excluded.standing, messages = excluded.messages, delivered = excluded.delivered,
              receipt_ms = excluded.receipt_ms,
              since = CASE WHEN s.standing = excluded.standing THEN s.since ELSE now() END`,
  );
}

/** Deletes standings that have no figures any more. Returns how many there were. */
async function deleteStandings(
  db: Db,
  rows: readonly Pick<StandingRow, 'policyId' | 'connectionId' | 'country'>[],
): Promise<number> {
  const keys = rows.map(({ policyId, connectionId, country }) => `${policyId}/${connectionId}/${country}`);
  return exec(
    db,
    sql`DELETE FROM route_standing
        WHERE concat_ws('/', policy_id, connection_id, country) = ANY(${plainArray(keys)}::text[])`,
  );
}

const COUNTRY_QUALITY = columns({
  connectionId: as<number>('q.connection_id'),
  messages: as<number>('sum(q.messages)::bigint'),
  delivered: as<number>('sum(q.delivered)::bigint'),
  receiptMs: as<number>('sum(q.receipt_ms)::bigint'),
});
type CountryQuality = RowOf<typeof COUNTRY_QUALITY>;

/** Lists the quality of each connection in a country, by its calling code, from samples of the last hours. */
export async function listQualityIn(
  db: Db,
  { country, hours }: { country: string; hours: number },
): Promise<CountryQuality[]> {
  return many(
    db,
    sql`SELECT ${COUNTRY_QUALITY} FROM connection_quality q
        WHERE q.country = ${country} AND q.slot > now() - make_interval(hours => ${hours})
        GROUP BY q.connection_id`,
  );
}
