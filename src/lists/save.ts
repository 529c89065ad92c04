import { type Author, recordAudit } from '../audit/record.ts';
import type { Db } from '../db/query.ts';
import { AppError, invalidFields } from '../errors.ts';
import { insertList, type ListRow, moveList } from './sql.ts';

type ListInput = {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly isTest?: boolean | undefined;
};

/** Makes a list. Call it in a transaction. Errors: 400 for a name of blanks alone. */
export async function createList(
  tx: Db,
  actor: Author,
  input: ListInput & { readonly name: string },
): Promise<ListRow> {
  const { description = '', isTest = false } = input;
  const name = readName(input.name);
  const list = await insertList(tx, { accountId: actor.accountId, name, description, isTest });
  await recordAudit(tx, actor, { action: 'contact-list.create', subject: `contact-list:${list.id}`, detail: { name } });
  return list;
}

/** Changes what people see of a list; what is left out stays. Call it in a transaction. Errors: 400, 404. */
export async function changeList(tx: Db, actor: Author, id: number, input: ListInput): Promise<ListRow> {
  const name = input.name === undefined ? null : readName(input.name);
  const change = { name, description: input.description ?? null, isTest: input.isTest ?? null };
  const list = await moveList(tx, { accountId: actor.accountId, id, ...change });
  if (!list) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'contact-list.update', subject: `contact-list:${id}`, detail: change });
  return list;
}

function readName(text: string): string {
  const name = text.trim();
  if (name === '') throw invalidFields([{ field: 'name', message: 'must not be empty' }]);
  return name;
}
