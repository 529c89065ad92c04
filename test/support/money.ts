import type { Pool } from 'pg';
import { createAccount } from '../../src/operations/accounts/create.ts';
import { type Book, listBooks } from '../../src/money/credit/sql.ts';

export type Books = Readonly<Record<Book, number>>;

/**
 * The books of an account by its ledger, in micro-units. Throws when they do not make zero together, or when the balance
 * says otherwise.
 */
export async function booksOf(pool: Pool, accountId: number): Promise<Books> {
  const rows = await listBooks(pool, { accountId });
  const books = { outside: 0, available: 0, frozen: 0, earned: 0 };
  for (const { book, micros } of rows) books[book] = micros;
  const sum = Object.values(books).reduce((total, micros) => total + micros, 0);
  const wrong = rows.some((row) => (row.balanceMicros ?? row.micros) !== row.micros);
  if (sum !== 0 || wrong) throw new Error(`account ${accountId} disagrees: ${JSON.stringify(rows)}`);
  return books;
}

let made = 0;

/** A new account with so much to spend; answers its id. */
export async function accountWith(pool: Pool, creditMicros: number): Promise<number> {
  made++;
  return (await createAccount(pool, { name: `Account ${made}`, plan: 'production', creditMicros })).accountId;
}
