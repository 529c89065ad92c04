import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { findBook, updateLimits } from './book/sql.ts';
import { type Limits, limitsOf } from './limits.ts';

/** New limits; omitted ones are unchanged. A `planLimit` of null allows any number. */
type NewLimits = { readonly planLimit?: number | null | undefined; readonly extraLimit?: number | undefined };

/** Sets the contact limits of the author's account, and returns its limits. Call it in a transaction. Errors: 404. */
export async function setLimits(tx: Db, author: Author, input: NewLimits): Promise<Limits> {
  const { accountId } = author;
  const book = await findBook(tx, { accountId });
  if (!book) throw new AppError('not_found', { message: 'The account has no contacts and no limits' });
  const { planLimit = book.planLimit, extraLimit = book.extraLimit } = input;
  const limits = { planLimit, extraLimit };
  if (input.planLimit !== undefined || input.extraLimit !== undefined) {
    await updateLimits(tx, { accountId, ...limits });
    await recordAudit(tx, author, { action: 'contact.limit', subject: 'contacts', detail: limits });
  }
  return limitsOf({ ...book, ...limits });
}
