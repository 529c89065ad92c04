import { type Db, exec, many, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { NumberChecks } from '../../platform/lib/phone/number-rules.ts';
import type { Plan } from '../../platform/lib/plan.ts';

export type AccountStatus = 'active' | 'suspended';

/** NOTIFY channel for processes that keep a connection of an account open; the payload is the account id. */
export const ACCOUNTS_CHANNEL = 'heliograph_accounts';

/**
 * Notifies listeners, when the transaction commits, that the permissions of an account or of its SMPP credentials have
 * changed.
 */
export const notifyAccountChange = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(db, sql`SELECT pg_notify(${ACCOUNTS_CHANNEL}, ${String(accountId)})`);

const ACCOUNT = columns({
  id: as<number>('id'),
  name: as<string>('name'),
  status: as<AccountStatus>('status'),
  plan: as<Plan>('plan'),
  createdAt: as<Date>('created_at'),
  /** State of a move to another cell: under way (`held`) or `moved`; null: the account is served here. */
  away: as<'held' | 'moved' | null>('away'),
  cell: as<number | null>('cell'),
});
export type AccountRow = RowOf<typeof ACCOUNT>;

/** The columns of `account a` that authentication reads together with the credentials. */
export const GATE = columns({
  accountId: as<number>('a.id'),
  accountStatus: as<AccountStatus>('a.status'),
  /** True if the account is in another cell, or on its way. */
  away: as<boolean>('a.away IS NOT NULL'),
  plan: as<Plan>('a.plan'),
  /** The channels of the account, as bits. */
  channels: as<number>('a.channels'),
  /** Null: the limit of the plan. */
  ratePerMinute: as<number | null>('a.rate_per_minute'),
  ratePerSecond: as<number | null>('a.rate_per_second'),
  /** Canonical blocks; null if every address is allowed. */
  allowList: as<string[] | null>('CASE WHEN a.ip_allow_list_enforced THEN a.ip_allow_list::text[] END'),
  hasOptOuts: as<boolean>('a.has_opt_outs'),
  defaultCountry: as<string | null>('a.default_country'),
  numberChecks: as<NumberChecks>('a.number_checks'),
});
/** Permissions of an account's callers. */
export type AccountGate = RowOf<typeof GATE>;

export const insertAccount = (db: Db, input: { name: string; plan: Plan }): Promise<AccountRow> =>
  one(
    db,
    sql`INSERT INTO account (name, plan) VALUES (${input.name}, ${input.plan})
      RETURNING ${ACCOUNT}`,
  );

/** Lists all accounts, oldest first. */
export const listAccounts = (db: Db): Promise<AccountRow[]> =>
  many(db, sql`SELECT ${ACCOUNT} FROM account ORDER BY id`);

/** Lists the account with this id and those with this name; names are not unique. */
export const listAccountsByName = (db: Db, input: { name: string; id: number | null }): Promise<AccountRow[]> =>
  many(db, sql`SELECT ${ACCOUNT} FROM account WHERE id = ${input.id} OR name = ${input.name} ORDER BY id`);

export async function countAccounts(db: Db): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM account`)).total;
}

/** Moves an account from one status to another. Returns 1, or 0 if it does not exist or has another status. */
export const moveAccountStatus = (
  db: Db,
  input: { accountId: number; from: AccountStatus; to: AccountStatus },
): Promise<number> =>
  exec(db, sql`UPDATE account SET status = ${input.to} WHERE id = ${input.accountId} AND status = ${input.from}`);

/** Renames an account. Returns 1, or 0 if it does not exist or has this name already. */
export const updateAccountName = (db: Db, { accountId, name }: { accountId: number; name: string }): Promise<number> =>
  exec(db, sql`UPDATE account SET name = ${name} WHERE id = ${accountId} AND name <> ${name}`);

/** Changes the plan of an account. Returns 1, or 0 if it does not exist or is on this plan already. */
export const updateAccountPlan = (db: Db, { accountId, plan }: { accountId: number; plan: Plan }): Promise<number> =>
  exec(db, sql`UPDATE account SET plan = ${plan} WHERE id = ${accountId} AND plan <> ${plan}`);

/**
 * Takes an advisory lock until the transaction ends, so that only one process at a time can make the first account. The
 * number is arbitrary.
 */
export const lockFirstAccount = (db: Db): Promise<number> => exec(db, sql`SELECT pg_advisory_xact_lock(7305246119)`);

/**
 * Sets the request limit of each key, effective with the next request: null is the plan's limit, 0 per minute is no
 * limit.
 */
export const updateAccountRate = (
  db: Db,
  input: { accountId: number; perMinute: number | null; perSecond: number | null },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET rate_per_minute = ${input.perMinute}, rate_per_second = ${input.perSecond}
      WHERE id = ${input.accountId}`,
  );

/**
 * Records that these accounts have opt-outs; it is written once in the life of an account. Pass ids in ascending order.
 */
export const updateHasOptOuts = (db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET has_opt_outs = true
      WHERE id = ANY (${accountIds}::bigint[]) AND NOT has_opt_outs`,
  );
