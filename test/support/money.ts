import type { Pool } from 'pg';
import { type Book, listBookTotals } from '../../src/money/credit.ts';
import { createAccount } from '../../src/operate/account-commands.ts';

export type Books = Readonly<Record<Book, number>>;

/**
 * Returns the books of an account by its ledger, in micro-units. Throws if they do not add up to zero, or if the
 * balance differs.
 */
export async function readBooks(pool: Pool, accountId: number): Promise<Books> {
  const rows = await listBookTotals(pool, { accountId });
  const books = { outside: 0, available: 0, frozen: 0, earned: 0 };
  for (const { book, micros } of rows) books[book] = micros;
  const sum = Object.values(books).reduce((total, micros) => total + micros, 0);
  const wrong = rows.some((row) => (row.balanceMicros ?? row.micros) !== row.micros);
  if (sum !== 0 || wrong) throw new Error(`account ${accountId} disagrees: ${JSON.stringify(rows)}`);
  return books;
}

let made = 0;

/** Creates an account with this much credit; returns its id. */
export async function createAccountWithCredit(pool: Pool, creditMicros: number): Promise<number> {
  made++;
  return (await createAccount(pool, { name: `Account ${made}`, plan: 'production', creditMicros })).accountId;
}
