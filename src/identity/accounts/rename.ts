import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { invalidFields } from '../../platform/errors.ts';
import { updateAccountName } from './sql.ts';

/**
 * Renames the author's account; names need not be unique. Call it in a transaction. Errors: 400 as `parseAccountName`.
 */
export async function renameAccount(tx: Db, author: Author, input: { readonly name: string }): Promise<void> {
  const { accountId } = author;
  const name = parseAccountName(input.name);
  if ((await updateAccountName(tx, { accountId, name })) === 0) return;
  await recordAudit(tx, author, { action: 'account.rename', subject: `account:${accountId}`, detail: { name } });
}

/**
 * Returns the name of an account without surrounding blanks. Errors: 400 when it is empty or has over 200 characters.
 */
export function parseAccountName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > 200 || name.includes('\0'))
    throw invalidFields([{ field: 'name', message: 'must have 1 to 200 characters' }]);
  return name;
}
