import type { Static } from 'typebox';
import type { Author } from '../../identity/audit/record.ts';
import { setOptOuts } from '../../messaging/consent/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { claimBook, updateContactCount } from './book/sql.ts';
import { listFields } from './fields/sql.ts';
import { limitReached, limitsOf } from './limits.ts';
import { readContact } from './read.ts';
import type { ContactPatch } from './schema.ts';
import { insertContacts, listIdsByNumber } from './sql.ts';

/**
 * Creates a contact and returns its id. Call it in a transaction. Errors: 400 naming the faulty fields (a number or an
 * email address is required), 403 when the contact limit is reached, 409 naming the contact that has the number.
 */
export async function createContact(tx: Db, actor: Author, input: Static<typeof ContactPatch>): Promise<number> {
  const { accountId } = actor;
  const book = await claimBook(tx, { accountId, to: 'create' });
  const fields = await listFields(tx, { accountId });
  const row = readContact(input, { rules: book, fields }, null);
  await refuseTakenNumber(tx, accountId, row.phoneNumber, null);
  const limits = limitsOf(book);
  if (limits.remaining === 0) throw limitReached(limits);
  const [written] = await insertContacts(tx, { accountId, rows: [row] });
  if (!written) throw new Error('the contact was not written');
  await updateContactCount(tx, { accountId, by: 1 });
  if (row.phoneNumber !== null && input.optedOut)
    await setOptOuts(tx, actor, { phoneNumber: row.phoneNumber, channels: input.optedOut, source: 'API' });
  return written.id;
}

/**
 * Rejects a number that a contact other than `id` has. The caller has claimed the book, so that the result stays valid.
 * Errors: 409.
 */
export async function refuseTakenNumber(
  tx: Db,
  accountId: number,
  number: string | null,
  id: number | null,
): Promise<void> {
  if (number === null) return;
  const [taken] = await listIdsByNumber(tx, { accountId, numbers: [number] });
  if (!taken || taken.id === id) return;
  throw new AppError('conflict', {
    message: `The number belongs to contact ${taken.id}`,
    details: [{ field: 'phoneNumber', message: `belongs to contact ${taken.id}` }],
  });
}
