import { type Db, exec, many, one, sql } from '../../platform/db/query.ts';
import type { Plan } from '../../platform/lib/plan.ts';

export type AccountStatus = 'active' | 'suspended';
export type AccountRow = { id: number; name: string; status: AccountStatus; plan: Plan; createdAt: Date };

const RECORD = sql`SELECT id, name, status, plan, created_at AS "createdAt" FROM account`;

/** What an account lets its callers do, read with their credentials. */
export type AccountGate = {
  accountId: number;
  accountStatus: AccountStatus;
  plan: Plan;
  /** Bits of its channels. */
  channels: number;
  /** null: what the plan gives. */
  ratePerMinute: number | null;
  ratePerSecond: number | null;
  /** Canonical blocks; null: every address. */
  allowList: string[] | null;
  hasOptOuts: boolean;
};

/** The columns of an AccountGate, of `account a`. */
export const GATE = sql`a.id AS "accountId", a.status AS "accountStatus", a.plan, a.channels,
  a.rate_per_minute AS "ratePerMinute", a.rate_per_second AS "ratePerSecond",
  CASE WHEN a.ip_allow_list_enforced THEN a.ip_allow_list::text[] END AS "allowList", a.has_opt_outs AS "hasOptOuts"`;

export const insertAccount = (db: Db, input: { name: string; plan: Plan }): Promise<AccountRow> =>
  one(
    db,
    sql`INSERT INTO account (name, plan) VALUES (${input.name}, ${input.plan})
      RETURNING id, name, status, plan, created_at AS "createdAt"`,
  );

/** Every account, oldest first. */
export const listAccounts = (db: Db): Promise<AccountRow[]> => many(db, sql`${RECORD} ORDER BY id`);

/** The account of this id, or else those of this name (names are not unique). */
export const listAccountsByName = (db: Db, input: { name: string; id: number | null }): Promise<AccountRow[]> =>
  many(db, sql`${RECORD} WHERE id = ${input.id} OR name = ${input.name} ORDER BY id`);

export async function countAccounts(db: Db): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM account`)).total;
}

/** 1, or 0 when the account does not exist or has this status already. */
export const moveAccountStatus = (
  db: Db,
  input: { accountId: number; from: AccountStatus; to: AccountStatus },
): Promise<number> =>
  exec(db, sql`UPDATE account SET status = ${input.to} WHERE id = ${input.accountId} AND status = ${input.from}`);

/** 1, or 0 when the account does not exist or has this name already. */
export const updateAccountName = (db: Db, { accountId, name }: { accountId: number; name: string }): Promise<number> =>
  exec(db, sql`UPDATE account SET name = ${name} WHERE id = ${accountId} AND name <> ${name}`);

/** 1, or 0 when the account does not exist or is on this plan already. */
export const updateAccountPlan = (db: Db, { accountId, plan }: { accountId: number; plan: Plan }): Promise<number> =>
  exec(db, sql`UPDATE account SET plan = ${plan} WHERE id = ${accountId} AND plan <> ${plan}`);

/** Held until the transaction ends: who else wants to make the first account waits. The number is ours, at random. */
export const lockFirstAccount = (db: Db): Promise<number> => exec(db, sql`SELECT pg_advisory_xact_lock(7305246119)`);

/** What each key may ask for from the next request on: null is the plan's, 0 a minute is no limit. */
export const updateAccountRate = (
  db: Db,
  input: { accountId: number; perMinute: number | null; perSecond: number | null },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET rate_per_minute = ${input.perMinute}, rate_per_second = ${input.perSecond}
      WHERE id = ${input.accountId}`,
  );

/** Notes that these accounts have opt-outs from now on; written once in the life of an account. Ids in ascending order. */
export const updateHasOptOuts = (db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET has_opt_outs = true
      WHERE id = ANY (${accountIds}::bigint[]) AND NOT has_opt_outs`,
  );
