import { type Author, recordAudit } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError } from '../../../platform/errors.ts';
import { insertList, type ListRow, updateList } from './sql.ts';

type ListInput = {
  readonly name?: string | undefined;
  /** Description; null is the same as an empty text. */
  readonly description?: string | null | undefined;
  readonly isTest?: boolean | undefined;
};

/** Creates a list. The caller has checked that the name does not consist of blanks. Call it in a transaction. */
export async function createList(
  tx: Db,
  actor: Author,
  input: ListInput & { readonly name: string },
): Promise<ListRow> {
  const { description, isTest = false } = input;
  const name = input.name.trim();
  const list = await insertList(tx, { accountId: actor.accountId, name, description: description ?? '', isTest });
  await recordAudit(tx, actor, { action: 'contact-list.create', subject: `contact-list:${list.id}`, detail: { name } });
  return list;
}

/**
 * Changes the name, description or kind of a list; omitted fields are unchanged. Call it in a transaction. Errors: 404.
 */
export async function changeList(tx: Db, actor: Author, id: number, input: ListInput): Promise<ListRow> {
  const name = input.name?.trim() ?? null;
  const description = input.description === null ? '' : (input.description ?? null);
  const change = { name, description, isTest: input.isTest ?? null };
  const list = await updateList(tx, { accountId: actor.accountId, id, ...change });
  if (!list) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'contact-list.update', subject: `contact-list:${id}`, detail: change });
  return list;
}
