import { randomInt } from 'node:crypto';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { type BatchColumns, bigint, insertRows, int, once, type RowColumns, rowsOf, text } from '../core/db/columns.ts';
import {
  as,
  columns,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  onePlan,
  plainArray,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { AccountAway, invalidFields } from '../core/errors.ts';
import { fromMicros, toMicros } from '../core/money.ts';

export type Charge = { readonly accountId: number; readonly micros: number };

/**
 * Transactions that accept messages lock the balance anyway, so they share one row of the frozen credit; those that
 * settle spread over the others.
 */
const FREEZING_SHARD = 0;
const SETTLING_SHARDS = 8;
const settlingShard = (): number => 1 + randomInt(SETTLING_SHARDS);

type Total = { readonly accountId: number; readonly micros: number; readonly messages: number };

/**
 * Returns the sums per account, with the number of messages that have a price. Balances are locked in the order of the
 * account ids.
 */
function totals(charges: readonly Charge[]): Total[] {
  const sums = new Map<number, { micros: number; messages: number }>();
  for (const { accountId, micros } of charges) {
    const sum = sums.get(accountId) ?? { micros: 0, messages: 0 };
    sums.set(accountId, { micros: sum.micros + micros, messages: sum.messages + (micros > 0 ? 1 : 0) });
  }
  return [...sums].map(([accountId, sum]) => ({ accountId, ...sum }));
}

/**
 * Freezes the price of messages that are being stored: available → frozen. Fails the transaction (`isShortage`) when an
 * account does not have enough credit, or, also for messages without a price, no balance (`cells/copy.ts`).
 *
 * These must be the last statements of the transaction: the balance is one row for all traffic of an account, and its
 * lock is held until the commit. All statements are sent before this returns, so it may be part of a `burst`.
 */
export async function freeze(tx: Db, charges: readonly Charge[], reference: string): Promise<void> {
  const all = totals(charges);
  if (all.length === 0) return;
  const sums = all.filter(({ micros }) => micros > 0);
  const side = { kind: 'freeze', fromBook: 'available', toBook: 'frozen', reference } as const;
  await Promise.all([
    ...(sums.length > 0
      ? [
          insertLedgerEntries(
            tx,
            sums.map((s) => ({ ...s, ...side, amountMicros: s.micros })),
          ),
        ]
      : []),
    // The balance first: a transaction that has called `fitIntoCredit` holds its lock already.
    updateAvailable(
      tx,
      all.map((s) => ({ accountId: s.accountId, micros: -s.micros })),
    ),
    ...(sums.length > 0 ? [updateFrozen(tx, { changes: sums, shard: FREEZING_SHARD })] : []),
  ]);
}

/**
 * Freezes as much of an amount as the credit of the account covers, and returns how much that is. As with `freeze`, it
 * must be the last step of the transaction.
 */
export async function freezeUpTo(tx: Db, { accountId, micros }: Charge, reference: string): Promise<number> {
  const [balance] = await claimBalances(tx, { accountIds: [accountId] });
  if (!balance) return 0;
  const covered = balance.unlimited ? micros : Math.max(0, Math.min(micros, balance.availableMicros));
  await freeze(tx, [{ accountId, micros: covered }], reference);
  return covered;
}

/** A price that is charged only once for all messages with the same key. */
export type OnceCharge = Charge & { readonly key: string | null };

/** The price of a message, and the credit that the account had left for it. */
export type Shortage = { readonly priceMicros: number; readonly availableMicros: number; readonly currency: string };

/**
 * Returns the shortage of each of these messages, or null if the credit covers it, one by one in order: a message that
 * is not covered is skipped, and a cheaper one after it may still be covered. Locks the balances until the end of the
 * transaction. Throws an AccountAway for those without a balance: it is put aside while they move.
 */
export async function fitIntoCredit(tx: Db, charges: readonly OnceCharge[]): Promise<(Shortage | null)[]> {
  const accountIds = [...new Set(charges.map((charge) => charge.accountId))];
  const balances = await claimBalances(tx, { accountIds });
  const away = accountIds.filter((id) => !balances.some(({ accountId }) => accountId === id));
  if (away.length > 0) throw new AccountAway(away);
  const left = new Map(balances.map((b) => [b.accountId, b.unlimited ? Number.POSITIVE_INFINITY : b.availableMicros]));
  const currencies = new Map(balances.map((b) => [b.accountId, b.currency]));
  const paid = new Set<string>();
  return charges.map(({ accountId, micros, key }) => {
    if (key !== null && paid.has(key)) return null;
    const available = left.get(accountId) ?? 0;
    if (micros > available)
      return { priceMicros: micros, availableMicros: available, currency: currencies.get(accountId) ?? '' };
    left.set(accountId, available - micros);
    if (key !== null) paid.add(key);
    return null;
  });
}

/**
 * Settles frozen charges: `earned` goes to the operator, `returned` back to the account. As with `freeze`, these must
 * be the last statements of the transaction, and may be part of a `burst`.
 */
export async function settleFrozen(
  tx: Db,
  { earned, returned, reference }: { earned: readonly Charge[]; returned: readonly Charge[]; reference: string },
): Promise<void> {
  const used = totals(earned.filter((charge) => charge.micros > 0));
  const back = totals(returned.filter((charge) => charge.micros > 0));
  if (used.length + back.length === 0) return;
  const settle = { kind: 'settle', fromBook: 'frozen', toBook: 'earned', reference } as const;
  const refund = { kind: 'return', fromBook: 'frozen', toBook: 'available', reference } as const;
  await Promise.all([
    insertLedgerEntries(tx, [
      ...used.map((s) => ({ ...s, ...settle, amountMicros: s.micros })),
      ...back.map((s) => ({ ...s, ...refund, amountMicros: s.micros })),
    ]),
    updateFrozen(tx, { changes: unfrozen(used, back), shard: settlingShard() }),
    ...(back.length > 0 ? [updateAvailable(tx, back)] : []),
  ]);
}

/** Returns the changes of the frozen credit, one per account. */
const unfrozen = (used: readonly Total[], back: readonly Total[]): BalanceChange[] =>
  totals([...used, ...back]).map(({ accountId, micros }) => ({ accountId, micros: -micros }));

/** Adds credit to an account: outside → available. The amount must be positive. */
export async function topUp(
  tx: Db,
  { accountId, micros, reference }: Charge & { readonly reference: string },
): Promise<void> {
  await insertLedgerEntries(tx, [
    {
      accountId,
      kind: 'topup',
      fromBook: 'outside',
      toBook: 'available',
      amountMicros: micros,
      messages: 0,
      reference,
    },
  ]);
  await updateAvailable(tx, [{ accountId, micros }]).catch((error: unknown) => {
    throw isShortage(error) ? new AccountAway([accountId]) : error;
  });
}

/**
 * Adds credit to the author's account. `amount` is in currency units; `reference` is stored in the ledger. Call it in a
 * transaction. Errors: 400 when the amount is not greater than 0, or has more than 6 decimals.
 */
export async function addCredit(
  tx: Db,
  author: Author,
  { amount, reference }: { readonly amount: number; readonly reference: string },
): Promise<void> {
  const { accountId } = author;
  const micros = toMicros(amount);
  if (micros === null || micros <= 0)
    throw invalidFields([{ field: 'amount', message: 'must be greater than 0, with at most 6 decimals' }]);
  await topUp(tx, { accountId, micros, reference });
  const event = { action: 'credit.add', subject: `account:${accountId}`, detail: { micros, reference } };
  await recordAudit(tx, author, event);
}

/** The credit of an account in currency units: `credit` is available and frozen together. */
type Credit = {
  readonly credit: number;
  readonly frozenCredit: number;
  readonly availableCredit: number;
  readonly currency: string;
};

/** Returns the credit of an account; zero when it has no balance. */
export async function creditOf(db: Db, { accountId }: { readonly accountId: number }): Promise<Credit> {
  const { availableMicros = 0, frozenMicros = 0, currency = 'EUR' } = (await findBalance(db, { accountId })) ?? {};
  return {
    credit: fromMicros(availableMicros + frozenMicros),
    frozenCredit: fromMicros(frozenMicros),
    availableCredit: fromMicros(availableMicros),
    currency,
  };
}

/** Returns true if the totals of an account's books add up to zero and match its balance. */
export async function ledgerBalances(db: Db, { accountId }: { readonly accountId: number }): Promise<boolean> {
  const books = await listBookTotals(db, { accountId });
  const total = books.reduce((sum, { micros }) => sum + micros, 0);
  return total === 0 && books.every((book) => (book.balanceMicros ?? book.micros) === book.micros);
}

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
async function claimBalances(
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
type BalanceChange = { readonly accountId: number; readonly micros: number };

const CHANGE_FIELDS: BatchColumns<BalanceChange> = once({
  account_id: bigint((m) => m.accountId),
  micros: bigint((m) => m.micros),
});

/**
 * Changes the available credit of accounts, in the order of the account ids. When an account would fall below zero, or
 * has no balance, the statement fails with division_by_zero (22012), and the transaction with it: so a caller may send
 * the COMMIT without waiting for the response. `isShortage` recognizes the error.
 */
export async function updateAvailable(db: Db, changes: readonly BalanceChange[]): Promise<void> {
  await exec(
    db,
    onePlan(sql`WITH moves AS (
          SELECT m.account_id, m.micros FROM ${rowsOf(changes, CHANGE_FIELDS)} AS m),
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
        SELECT m.account_id, ${shard}, m.micros FROM ${rowsOf(changes, CHANGE_FIELDS)} AS m ORDER BY m.account_id
        ON CONFLICT (account_id, shard) DO UPDATE SET micros = f.micros + excluded.micros`),
  );
}

/** Returns true if a transaction failed because an account did not have enough credit. */
export const isShortage = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '22012';

type LedgerKind = 'topup' | 'freeze' | 'settle' | 'return';
/** The books that ledger entries move amounts between. */
export type Book = 'outside' | 'available' | 'frozen' | 'earned';

/** An entry of the ledger: an amount that moves from one book of an account to another. */
type NewLedgerEntry = {
  readonly accountId: number;
  readonly kind: LedgerKind;
  readonly fromBook: Book;
  readonly toBook: Book;
  readonly amountMicros: number;
  readonly messages: number;
  readonly reference: string;
};

const LEDGER_FIELDS: RowColumns<NewLedgerEntry> = once({
  accountId: bigint,
  kind: text,
  fromBook: text,
  toBook: text,
  amountMicros: bigint,
  messages: int,
  reference: text,
});

async function insertLedgerEntries(db: Db, entries: readonly NewLedgerEntry[]): Promise<void> {
  await exec(db, onePlan(insertRows('ledger_entry', entries, LEDGER_FIELDS)));
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

const LEDGER_ROW = columns({
  id: as<string>('id'),
  at: as<Date>('created_at'),
  kind: as<LedgerKind>('kind'),
  from: as<Book>('from_book'),
  to: as<Book>('to_book'),
  amountMicros: as<number>('amount_micros'),
  messages: as<number>('messages'),
  reference: as<string>('reference'),
});
export type LedgerRow = RowOf<typeof LEDGER_ROW>;

type LedgerFilter = { readonly accountId: number; readonly kind: LedgerKind | null };

const inLedger = ({ accountId, kind }: LedgerFilter) => sql`
  FROM ledger_entry WHERE account_id = ${accountId} AND (${kind}::text IS NULL OR kind = ${kind})`;

/** Lists a page of ledger entries, the newest first: ids are in the order of time. */
export async function listLedger(
  db: Db,
  filter: LedgerFilter & { readonly limit: number; readonly offset: number },
): Promise<LedgerRow[]> {
  return many(
    db,
    sql`SELECT ${LEDGER_ROW} ${inLedger(filter)} ORDER BY id DESC LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countLedger(db: Db, filter: LedgerFilter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${inLedger(filter)}`)).total;
}

/**
 * Returns the available credit, in millionths, right after this entry: the current credit minus the changes of newer
 * entries. One statement, so that both are of the same time.
 */
export async function findAvailableAfterEntry(
  db: Db,
  { accountId, id }: { readonly accountId: number; readonly id: string },
): Promise<number> {
  const row = await one<{ micros: number }>(
    db,
    sql`SELECT (coalesce((SELECT available_micros FROM credit_balance WHERE account_id = ${accountId}), 0)
               - coalesce(sum(CASE WHEN to_book = 'available' THEN amount_micros
                                   WHEN from_book = 'available' THEN -amount_micros ELSE 0 END), 0))::bigint AS micros
        FROM ledger_entry WHERE account_id = ${accountId} AND id > ${id}`,
  );
  return row.micros;
}
