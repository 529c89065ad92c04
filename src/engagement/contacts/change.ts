import type { Static } from 'typebox';
import type { Author } from '../../identity/audit/record.ts';
import { setOptOuts } from '../../messaging/consent/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { updateNameKeys } from './lists/members/sql.ts';
import { claimBook } from './book/sql.ts';
import { refuseTakenNumber } from './create.ts';
import { listFields } from './fields/sql.ts';
import { readContact } from './read.ts';
import type { ContactPatch } from './schema.ts';
import { findContact, updateContact } from './sql.ts';

/**
 * Changes the fields of a contact that `input` has. A new number has the opt-outs of that number. Call it in a
 * transaction.
 * Errors: 400 naming the faulty fields, 404, 409 when another contact has the number.
 */
export async function changeContact(
  tx: Db,
  actor: Author,
  id: number,
  input: Static<typeof ContactPatch>,
): Promise<void> {
  const { accountId } = actor;
  const rules = await claimBook(tx, { accountId, to: 'change' });
  const current = await findContact(tx, { accountId, id });
  if (!current) throw new AppError('not_found');
  const row = readContact(input, { rules, fields: await listFields(tx, { accountId }) }, current);
  await refuseTakenNumber(tx, accountId, row.phoneNumber, id);
  await updateContact(tx, { accountId, id, row });
  await updateNameKeys(tx, { accountId, contactIds: [id] });
  if (row.phoneNumber !== null && input.optedOut)
    await setOptOuts(tx, actor, { phoneNumber: row.phoneNumber, channels: input.optedOut, source: 'API' });
}
