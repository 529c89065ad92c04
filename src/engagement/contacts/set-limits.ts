import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { isPhoneCountry } from '../../platform/lib/phone/phone-details.ts';
import { findBook, updateDefaultCountry, updateLimits } from './book/sql.ts';
import { type Limits, limitsOf } from './limits.ts';

/** New limits; those that are left out stay as they are. A `planLimit` of null allows any number. */
type NewLimits = { readonly planLimit?: number | null | undefined; readonly extraLimit?: number | undefined };

/**
 * Sets how many contacts the author's account may have, and returns its limits. Call it in a transaction. Errors: 404.
 */
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

/**
 * Sets the country (two letters of ISO 3166-1) whose national numbers the author's account may use; null: all numbers
 * need a country code. Call it in a transaction. Errors: 400.
 */
export async function setDefaultCountry(tx: Db, author: Author, country: string | null): Promise<void> {
  if (country !== null && !isPhoneCountry(country))
    throw invalidFields([{ field: 'defaultCountry', message: 'must be two letters of ISO 3166-1, for example IT' }]);
  await updateDefaultCountry(tx, { accountId: author.accountId, country });
  const detail = { defaultCountry: country };
  await recordAudit(tx, author, { action: 'contact.country', subject: 'contacts', detail });
}
