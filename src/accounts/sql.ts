import { type Db, exec, many, one, sql } from '../db/query.ts';
import type { Plan } from '../http/actor.ts';

export type AccountStatus = 'active' | 'suspended';
export type AccountRow = { id: number; name: string; status: AccountStatus; plan: Plan; createdAt: Date };

const RECORD = sql`SELECT id, name, status, plan, created_at AS "createdAt" FROM account`;

export const insertAccount = (db: Db, input: { name: string; plan: Plan }): Promise<AccountRow> =>
  one(
    db,
    sql`INSERT INTO account (name, plan) VALUES (${input.name}, ${input.plan})
      RETURNING id, name, status, plan, created_at AS "createdAt"`,
  );

/** Every account, oldest first. */
export const listAccounts = (db: Db): Promise<AccountRow[]> => many(db, sql`${RECORD} ORDER BY id`);

/** The account of this id, or else those of this name (names are not unique). */
export const listAccountsNamed = (db: Db, input: { name: string; id: number | null }): Promise<AccountRow[]> =>
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

/** Held until the transaction ends: who else wants to make the first account waits. The number is ours, at random. */
export const claimFirstAccount = (db: Db): Promise<number> => exec(db, sql`SELECT pg_advisory_xact_lock(7305246119)`);
