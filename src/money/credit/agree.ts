import type { Db } from '../../platform/db/query.ts';
import { listBooks } from './sql.ts';

/** Whether the books of an account make zero together, and its balance is what they say. */
export async function booksAgree(db: Db, { accountId }: { readonly accountId: number }): Promise<boolean> {
  const books = await listBooks(db, { accountId });
  const total = books.reduce((sum, { micros }) => sum + micros, 0);
  return total === 0 && books.every((book) => (book.balanceMicros ?? book.micros) === book.micros);
}
