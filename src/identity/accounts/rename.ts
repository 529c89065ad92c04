import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { readName } from './name.ts';
import { moveName } from './sql.ts';

/** Gives the author's account another name; names need not be unique. Call it in a transaction. Errors: 400. */
export async function renameAccount(tx: Db, author: Author, input: { readonly name: string }): Promise<void> {
  const { accountId } = author;
  const name = readName(input.name);
  if ((await moveName(tx, { accountId, name })) === 0) return;
  await recordAudit(tx, author, { action: 'account.rename', subject: `account:${accountId}`, detail: { name } });
}
