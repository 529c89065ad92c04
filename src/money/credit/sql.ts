import { bigint, int, rowsOf, text } from '../../platform/db/columns.ts';
import { plainArray } from '../../platform/db/array.ts';
import { type Db, exec, many, maybeOne, onePlan, sql } from '../../platform/db/query.ts';

export type Balance = { currency: string; availableMicros: number; frozenMicros: number; unlimited: boolean };

export async function findBalance(db: Db, { accountId }: { accountId: number }): Promise<Balance | undefined> {
  return maybeOne(
    db,
    sql`SELECT currency, unlimited, available_micros AS "availableMicros", (SELECT coalesce(sum(f.micros), 0)::bigint FROM credit_frozen f WHERE f.account_id = b.account_id) AS "frozenMicros"
        FROM credit_balance b WHERE account_id = ${accountId}`,
  );
}

/** Locks the balances of these accounts, in the order of their ids. */
export async function claimBalances(
  db: Db,
  { accountIds }: { accountIds: readonly number[] },
): Promise<{ accountId: number; availableMicros: number; unlimited: boolean }[]> {
  return many(
    db,
    sql`SELECT account_id AS "accountId", available_micros AS "availableMicros", unlimited FROM credit_balance
        WHERE account_id = ANY(${plainArray(accountIds)}::bigint[]) ORDER BY account_id FOR UPDATE`,
  );
}

export async function insertBalance(
  db: Db,
  { accountId, unlimited }: { accountId: number; unlimited: boolean },
): Promise<void> {
  await exec(db, sql`INSERT INTO credit_balance (account_id, unlimited) VALUES (${accountId}, ${unlimited})`);
}

/** Whether an account may spend what it does not have. 0 when it owes something and so must go on to. */
export async function moveUnlimited(
  db: Db,
  { accountId, unlimited }: { accountId: number; unlimited: boolean },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE credit_balance SET unlimited = ${unlimited}
        WHERE account_id = ${accountId} AND (${unlimited} OR available_micros >= 0)`,
  );
}

export type Move = { readonly accountId: number; readonly micros: number };

/**
 * Adds to what accounts can spend (negative amounts take away), in the order of the account ids. When an account would
 * fall below zero, or has no balance, the statement fails with division_by_zero (22012), and the transaction with it:
 * so a caller may send the COMMIT behind it without having seen the answer. `isShortage` knows the error.
 */
export async function moveAvailable(db: Db, moves: readonly Move[]): Promise<void> {
  await exec(
    db,
    onePlan(sql`WITH moves AS (
          SELECT * FROM ${rowsOf(moves, {
            account_id: bigint((m) => m.accountId),
            micros: bigint((m) => m.micros),
          })} AS m),
        locked AS MATERIALIZED (
          SELECT account_id FROM credit_balance WHERE account_id IN (SELECT account_id FROM moves)
          ORDER BY account_id FOR UPDATE),
        moved AS (
          UPDATE credit_balance b SET available_micros = b.available_micros + m.micros
          FROM moves m JOIN locked USING (account_id)
          WHERE b.account_id = m.account_id AND (b.unlimited OR m.micros >= 0 OR b.available_micros + m.micros >= 0)
          RETURNING b.account_id)
        SELECT 1 / (count(*) = ${moves.length})::int FROM moved`),
  );
}

/**
 * Adds to what is frozen (negative amounts take away), in one of several rows of each account: whoever freezes and
 * whoever settles would otherwise wait for each other's commits. One row alone may be below zero, their sum never is.
 */
export async function moveFrozen(db: Db, { moves, shard }: { moves: readonly Move[]; shard: number }): Promise<void> {
  await exec(
    db,
    onePlan(sql`INSERT INTO credit_frozen AS f (account_id, shard, micros)
        SELECT m.account_id, ${shard}, m.micros FROM ${rowsOf(moves, {
          account_id: bigint((m) => m.accountId),
          micros: bigint((m) => m.micros),
        })} AS m ORDER BY m.account_id
        ON CONFLICT (account_id, shard) DO UPDATE SET micros = f.micros + excluded.micros`),
  );
}

/** Whether a transaction failed because credit was short. */
export const isShortage = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '22012';

export type LedgerKind = 'topup' | 'freeze' | 'settle' | 'return';
export type Book = 'outside' | 'available' | 'frozen' | 'earned';

export type NewEntry = {
  readonly accountId: number;
  readonly kind: LedgerKind;
  readonly fromBook: Book;
  readonly toBook: Book;
  readonly amountMicros: number;
  readonly messages: number;
  readonly reference: string;
};

export async function insertEntries(db: Db, entries: readonly NewEntry[]): Promise<void> {
  await exec(
    db,
    onePlan(sql`INSERT INTO ledger_entry (account_id, kind, from_book, to_book, amount_micros, messages, reference)
        SELECT * FROM ${rowsOf(entries, {
          account_id: bigint((e) => e.accountId),
          kind: text((e) => e.kind),
          from_book: text((e) => e.fromBook),
          to_book: text((e) => e.toBook),
          amount_micros: bigint((e) => e.amountMicros),
          messages: int((e) => e.messages),
          reference: text((e) => e.reference),
        })} AS u`),
  );
}

/**
 * What the books of an account hold by the ledger alone, and what its balance says of the two books that it keeps: the
 * same, at any instant, and all books make zero. One statement, so that both are of one instant.
 */
export async function listBooks(
  db: Db,
  { accountId }: { accountId: number },
): Promise<{ book: Book; micros: number; balanceMicros: number | null }[]> {
  return many(
    db,
    sql`SELECT book, sum(micros)::bigint AS micros,
               CASE book
                 WHEN 'available' THEN
                   (SELECT available_micros FROM credit_balance WHERE account_id = ${accountId})
                 WHEN 'frozen' THEN
                   (SELECT coalesce(sum(micros), 0)::bigint FROM credit_frozen WHERE account_id = ${accountId})
               END AS "balanceMicros"
        FROM (
          SELECT unnest('{outside,available,frozen,earned}'::text[]) AS book, 0 AS micros
          UNION ALL
          SELECT to_book, amount_micros FROM ledger_entry WHERE account_id = ${accountId}
          UNION ALL
          SELECT from_book, -amount_micros FROM ledger_entry WHERE account_id = ${accountId}) AS sides
        GROUP BY book ORDER BY book`,
  );
}
