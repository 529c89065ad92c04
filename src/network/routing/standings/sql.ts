import { plainArray } from '../../../platform/db/array.ts';
import { bigint, insertRows, text } from '../../../platform/db/columns.ts';
import { type Db, exec, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Standing } from './standing.ts';

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
export async function claimStandings(db: Db): Promise<boolean> {
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
export type FiguresRow = RowOf<typeof FIGURES>;

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
export async function listFigures(db: Db): Promise<FiguresRow[]> {
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
export async function insertStandings(db: Db, rows: readonly StandingRow[]): Promise<void> {
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
export async function deleteStandings(
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
