import { bigint, insertRows, int, rowsOf, text } from '../../platform/db/columns.ts';
import { plainArray } from '../../platform/db/array.ts';
import { type Db, exec, many, maybeOne, onePlan, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

const BALANCE = columns({
  currency: as<string>('currency'),
  unlimited: as<boolean>('unlimited'),
  availableMicros: as<number>('available_micros'),
  frozenMicros: as<number>(
    '(SELECT coalesce(sum(f.micros), 0)::bigint FROM credit_frozen f WHERE f.account_id = b.account_id)',
  ),
});
/** The balance of an account, in millionths of its currency. */
export type Balance = RowOf<typeof BALANCE>;

export async function findBalance(db: Db, { accountId }: { accountId: number }): Promise<Balance | undefined> {
  return maybeOne(db, sql`SELECT ${BALANCE} FROM credit_balance b WHERE account_id = ${accountId}`);
}

const CLAIMED_BALANCE = columns({
  accountId: as<number>('account_id'),
  availableMicros: as<number>('available_micros'),
  unlimited: as<boolean>('unlimited'),
  currency: as<string>('currency'),
});

/** Locks the balances of these accounts, in the order of their ids. */
export async function claimBalances(
  db: Db,
  { accountIds }: { accountIds: readonly number[] },
): Promise<RowOf<typeof CLAIMED_BALANCE>[]> {
  return many(
    db,
    sql`SELECT ${CLAIMED_BALANCE} FROM credit_balance
        WHERE account_id = ANY(${plainArray(accountIds)}::bigint[]) ORDER BY account_id FOR UPDATE`,
  );
}

export async function insertBalance(
  db: Db,
  { accountId, unlimited }: { accountId: number; unlimited: boolean },
): Promise<void> {
  await exec(db, sql`INSERT INTO credit_balance (account_id, unlimited) VALUES (${accountId}, ${unlimited})`);
}

/**
 * Sets whether an account may spend more than it has. Returns 0, and changes nothing, when the limit cannot be
 * introduced because the balance is negative.
 */
export async function updateUnlimited(
  db: Db,
  { accountId, unlimited }: { accountId: number; unlimited: boolean },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE credit_balance SET unlimited = ${unlimited}
        WHERE account_id = ${accountId} AND (${unlimited} OR available_micros >= 0)`,
  );
}

/** A change of an account's available or frozen credit; negative amounts subtract. */
export type BalanceChange = { readonly accountId: number; readonly micros: number };

/**
 * Changes the available credit of accounts, in the order of the account ids. When an account would fall below zero, or
 * has no balance, the statement fails with division_by_zero (22012), and the transaction with it: so a caller may send
 * the COMMIT without waiting for the response. `isShortage` recognizes the error.
 */
export async function updateAvailable(db: Db, changes: readonly BalanceChange[]): Promise<void> {
  await exec(
    db,
    onePlan(sql`WITH moves AS (
          SELECT m.account_id, m.micros FROM ${rowsOf(changes, {
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
        SELECT 1 / (count(*) = ${changes.length})::int FROM moved`),
  );
}

/**
 * Changes the frozen credit of accounts, in one of several rows per account: with a single row, transactions that
 * freeze and those that settle would wait for each other's commits. A single row may be below zero; their sum never is.
 */
export async function updateFrozen(
  db: Db,
  { changes, shard }: { changes: readonly BalanceChange[]; shard: number },
): Promise<void> {
  await exec(
    db,
    onePlan(sql`INSERT INTO credit_frozen AS f (account_id, shard, micros)
        SELECT m.account_id, ${shard}, m.micros FROM ${rowsOf(changes, {
          account_id: bigint((m) => m.accountId),
          micros: bigint((m) => m.micros),
        })} AS m ORDER BY m.account_id
        ON CONFLICT (account_id, shard) DO UPDATE SET micros = f.micros + excluded.micros`),
  );
}

/** Returns true if a transaction failed because an account did not have enough credit. */
export const isShortage = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '22012';

/** The kinds of ledger entries. */
export type LedgerKind = 'topup' | 'freeze' | 'settle' | 'return';
/** The books that ledger entries move amounts between. */
export type Book = 'outside' | 'available' | 'frozen' | 'earned';

/** An entry of the ledger: an amount that moves from one book of an account to another. */
export type NewLedgerEntry = {
  readonly accountId: number;
  readonly kind: LedgerKind;
  readonly fromBook: Book;
  readonly toBook: Book;
  readonly amountMicros: number;
  readonly messages: number;
  readonly reference: string;
};

export async function insertLedgerEntries(db: Db, entries: readonly NewLedgerEntry[]): Promise<void> {
  await exec(
    db,
    onePlan(
      insertRows('ledger_entry', entries, {
        accountId: bigint,
        kind: text,
        fromBook: text,
        toBook: text,
        amountMicros: bigint,
        messages: int,
        reference: text,
      }),
    ),
  );
}

/**
 * Lists the total of each book of an account according to the ledger, and for the two books in its balance also the
 * amount there. At any time both are equal, and the totals of all books add up to zero. One statement, so that all
 * amounts are of the same time.
 */
export async function listBookTotals(
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
