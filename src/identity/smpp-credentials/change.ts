import { notifyAccountChange } from '../accounts/sql.ts';
import { type Author, recordAudit } from '../audit/record.ts';
import type { Hashed } from '../users/password.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import { givenIn, type IssuedCredential, type SettingsInput, withinWindows, withSettings } from './create.ts';
import {
  type CredentialRow,
  deleteCredential,
  findCredentialForUpdate,
  updateCredential,
  updatePassword,
} from './sql.ts';

type Which = { readonly id: number };

const subjectOf = ({ id }: Which): string => `smpp-credential:${id}`;

async function found(tx: Db, { accountId }: Author, { id }: Which): Promise<CredentialRow> {
  const row = await findCredentialForUpdate(tx, { accountId, id });
  if (!row) throw new AppError('not_found');
  return row;
}

/**
 * Changes settings of a credential; its binds follow immediately, and those that are no longer allowed are closed. Call
 * it in a transaction. Errors: 404 for an unknown or foreign id, 400 for an invalid address, and for more requests in
 * flight than an account may have.
 */
export async function changeCredential(
  tx: Db,
  author: Author,
  { id, ...input }: SettingsInput & Which,
): Promise<CredentialRow> {
  const { accountId } = author;
  const row = await found(tx, author, { id });
  const settings = withSettings(input, row);
  await withinWindows(tx, author, () => updateCredential(tx, { ...settings, accountId, id }));
  const detail = givenIn(input);
  await recordAudit(tx, author, { action: 'smpp-credential.update', subject: subjectOf({ id }), detail });
  await notifyAccountChange(tx, { accountId });
  return { ...row, ...settings };
}

/**
 * Gives a credential this new password (`newSmppPassword`), which is returned and shown only once; the binds that were opened with the previous
 * one are closed. Call it in a transaction. Errors: 404 for an unknown or foreign id.
 */
export async function rotateCredential(
  tx: Db,
  author: Author,
  { id, password, passwordHash }: Which & Hashed,
): Promise<IssuedCredential> {
  const { accountId } = author;
  const row = await found(tx, author, { id });
  await updatePassword(tx, { accountId, id, passwordHash });
  await recordAudit(tx, author, { action: 'smpp-credential.rotate', subject: subjectOf({ id }) });
  await notifyAccountChange(tx, { accountId });
  return { ...row, password };
}

/**
 * Deletes a credential with the receipts that wait for its binds, and closes them. Call it in a transaction. Errors:
 * 404 for an unknown or foreign id.
 */
export async function removeCredential(tx: Db, author: Author, { id }: Which): Promise<void> {
  const { accountId } = author;
  if ((await deleteCredential(tx, { accountId, id })) === 0) throw new AppError('not_found');
  await recordAudit(tx, author, { action: 'smpp-credential.delete', subject: subjectOf({ id }) });
  await notifyAccountChange(tx, { accountId });
}
