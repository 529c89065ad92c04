import type { Pool } from 'pg';
import { DAILY_BUDGETS } from '../core/actor.ts';
import { every, type Task } from '../core/background.ts';
import { bigint, boolean, insertRows, rowsOf, text, timestamptz } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql, textArray } from '../core/db/query.ts';
import { HOUR_MS } from '../core/time.ts';

const SERVICE = columns({
  id: as<number>('s.id'),
  name: as<string>('s.name'),
  settings: as<unknown>('s.settings'),
  /** The API key, sealed. */
  secret: as<Buffer>('s.secret'),
  version: as<number>('s.version'),
});
export type LookupService = RowOf<typeof SERVICE>;

/** Lists the look-up services; the oldest, which is asked, comes first. */
export async function listServices(db: Db): Promise<LookupService[]> {
  return many(db, sql`SELECT ${SERVICE} FROM lookup_service s ORDER BY s.id`);
}

/** Inserts a service without its secret; undefined when the name is taken. */
export async function insertService(
  db: Db,
  { name, settings }: { name: string; settings: object },
): Promise<{ id: number } | undefined> {
  return maybeOne(
    db,
    sql`INSERT INTO lookup_service (name, settings, secret) VALUES (${name}, ${JSON.stringify(settings)}, '')
        ON CONFLICT (name) DO NOTHING RETURNING id`,
  );
}

export async function updateServiceSecret(db: Db, { id, secret }: { id: number; secret: Uint8Array }): Promise<void> {
  await exec(db, sql`UPDATE lookup_service SET secret = ${secret}, version = version + 1 WHERE id = ${id}`);
}

/** Deletes a service; returns 0 when there is none. */
export async function deleteService(db: Db, { name }: { name: string }): Promise<number> {
  return exec(db, sql`DELETE FROM lookup_service WHERE name = ${name}`);
}

/** Returns true if any route or cost names a network: otherwise no number need be looked up. */
export async function hasNamedNetwork(db: Db): Promise<boolean> {
  const { named } = await one<{ named: boolean }>(
    db,
    sql`SELECT EXISTS (SELECT FROM conditional_route WHERE network IS NOT NULL)
            OR EXISTS (SELECT FROM connection_cost WHERE network IS NOT NULL) AS named`,
  );
  return named;
}

const KNOWN = columns({ number: as<string>('n.number'), network: as<string | null>('n.network') });

/** Lists the known networks of numbers, without expired ones. */
export async function listKnown(db: Db, { numbers }: { numbers: readonly string[] }): Promise<RowOf<typeof KNOWN>[]> {
  return many(
    db,
    sql`SELECT ${KNOWN} FROM number_network n
        WHERE n.number = ANY(${textArray(numbers)}::text[]) AND n.valid_until > now()`,
  );
}

export type NewKnown = {
  readonly number: string;
  readonly network: string | null;
  readonly ported: boolean | null;
  readonly validUntil: Date;
};

/** Inserts results about numbers, each once, replacing earlier ones. */
export async function insertKnown(db: Db, rows: readonly NewKnown[]): Promise<void> {
  if (rows.length === 0) return;
  await exec(
    db,
    sql`${insertRows('number_network AS n', rows, { number: text, network: text, ported: boolean, validUntil: timestamptz })}
        ON CONFLICT (number) DO UPDATE SET network = excluded.network, ported = excluded.ported, looked_up_at = now(),
          valid_until = excluded.valid_until`,
  );
}

/** Adds look-ups of today. */
export async function insertLookups(
  db: Db,
  day: { serviceId: number; answered: number; failed: number; costMicros: number },
): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO lookup_day AS d (service_id, day, answered, failed, cost_micros)
        SELECT s.id, current_date, ${day.answered}, ${day.failed}, ${day.costMicros}
        FROM lookup_service s WHERE s.id = ${day.serviceId}
        ON CONFLICT (service_id, day) DO UPDATE SET answered = d.answered + excluded.answered,
          failed = d.failed + excluded.failed, cost_micros = d.cost_micros + excluded.cost_micros`,
  );
}

const DAYS = columns({
  serviceId: as<number>('d.service_id'),
  answered: as<number>('sum(d.answered)::bigint'),
  failed: as<number>('sum(d.failed)::bigint'),
  costMicros: as<number>('sum(d.cost_micros)::bigint'),
});
export type LookupCounts = RowOf<typeof DAYS>;

/** Sums up the look-ups of the last 30 days by service. */
export async function listCounts(db: Db): Promise<LookupCounts[]> {
  return many(db, sql`SELECT ${DAYS} FROM lookup_day d WHERE d.day > current_date - 30 GROUP BY d.service_id`);
}

const ASKED = columns({
  accountId: as<number>('b.account_id'),
  asked: as<number>('b.asked'),
  allowed: as<number | null>('b.allowed'),
});

/** Maximum look-ups of an account in a day, by its plan. */
const BY_PLAN = JSON.stringify(
  Object.fromEntries(Object.entries(DAILY_BUDGETS).map(([plan, { lookups }]) => [plan, lookups])),
);

/**
 * Adds requested look-ups to the counts of today, each account once, and returns the sums. Without `allowed`, the plan
 * of the account decides how many it may have.
 */
export const insertAsked = (
  db: Db,
  rows: readonly { readonly accountId: number; readonly asked: number; readonly allowed: number | null }[],
): Promise<RowOf<typeof ASKED>[]> =>
  many(
    db,
    sql`INSERT INTO lookup_budget AS b (account_id, day, asked, allowed)
        SELECT w.account_id, current_date, w.asked, coalesce(w.allowed, (${BY_PLAN}::jsonb ->> a.plan)::bigint)
        FROM ${rowsOf(rows, {
          account_id: bigint((w) => w.accountId),
          asked: bigint((w) => w.asked),
          allowed: bigint((w) => w.allowed),
        })} AS w LEFT JOIN account a ON a.id = w.account_id
        ORDER BY w.account_id
        ON CONFLICT (account_id, day) DO UPDATE SET asked = b.asked + excluded.asked, allowed = excluded.allowed
        RETURNING ${ASKED}`,
  );

/** Lists the accounts that have used up their look-ups of today; the installation is account 0. */
export const listUsedUp = (db: Db): Promise<RowOf<typeof ASKED>[]> =>
  many(db, sql`SELECT ${ASKED} FROM lookup_budget b WHERE b.day = current_date AND b.asked > b.allowed`);

/** Deletes expired results, and counts of more than a year. Returns how many numbers were deleted. */
export async function deleteOldKnown(db: Db): Promise<number> {
  await exec(db, sql`DELETE FROM lookup_day WHERE day < current_date - 400`);
  await exec(db, sql`DELETE FROM lookup_budget WHERE day < current_date`);
  return exec(db, sql`DELETE FROM number_network WHERE valid_until < now()`);
}

export const lookupTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'networks of numbers', work: every(HOUR_MS, () => deleteOldKnown(pool)) },
];
