import { type Author, recordAudit } from '../../../../identity/audit/record.ts';
import type { Db } from '../../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../../platform/errors.ts';
import { changeConversation } from '../../change.ts';
import type { LabelIn } from '../../labels/schema.ts';
import * as db from '../../labels/sql.ts';
import { findChanged } from '../../sql.ts';

const MAX_LABELS = 200;

/** Adds a label to those of the account. Errors: 409 when the name is taken, or there are already 200. */
export async function addLabel(tx: Db, author: Author, { name, color }: LabelIn): Promise<db.Label> {
  const { accountId } = author;
  if ((await db.countLabels(tx, { accountId })) >= MAX_LABELS)
    throw new AppError('conflict', { message: `An account may have ${MAX_LABELS} labels` });
  const made = await db.insertLabel(tx, { accountId, name: name.trim(), color });
  if (!made) throw taken();
  await record(tx, author, 'inbox-label.add', made);
  return made;
}

/** Changes the name or the colour of a label. Errors: 404; 409 when the name is taken. */
export async function changeLabel(
  tx: Db,
  author: Author,
  { id, name, color }: Partial<LabelIn> & { readonly id: number },
): Promise<db.Label> {
  const input = { accountId: author.accountId, id, name: name?.trim() ?? null, color: color ?? null };
  const made = await db.updateLabel(tx, input).catch(explainTaken);
  if (!made) throw new AppError('not_found');
  await record(tx, author, 'inbox-label.change', made);
  return made;
}

/** Deletes a label, also from its conversations. Errors: 404. */
export async function removeLabel(tx: Db, author: Author, { id }: { readonly id: number }): Promise<void> {
  const gone = await db.deleteLabel(tx, { accountId: author.accountId, id });
  if (!gone) throw new AppError('not_found');
  await record(tx, author, 'inbox-label.remove', gone);
}

/** Replaces the labels of a conversation. Errors: 404; 400 when the account has no such label. */
export async function setLabels(tx: Db, author: Author, chatId: string, labelIds: readonly number[]): Promise<void> {
  const { accountId } = author;
  await changeConversation(
    tx,
    author,
    chatId,
    async (key) => {
      const conversation = await findChanged(tx, key);
      if (!conversation) return undefined;
      const known = await db.lockLabels(tx, { accountId, ids: labelIds });
      if (known.length < labelIds.length)
        throw invalidFields([{ field: 'labelIds', message: 'contains an unknown label id' }]);
      const taken = await db.deleteOtherLabels(tx, { ...key, labelIds });
      const rows = labelIds.map((labelId) => ({ ...key, labelId }));
      const given = rows.length > 0 ? await db.insertConversationLabels(tx, rows) : 0;
      return taken + given > 0 ? conversation : undefined;
    },
    { action: 'conversation.label', detail: { labelIds } },
  );
}

const taken = (): AppError => new AppError('conflict', { message: 'A label with this name already exists' });

const explainTaken = (cause: unknown): never => {
  throw cause instanceof Error && 'code' in cause && cause.code === '23505' ? taken() : cause;
};

const record = (tx: Db, author: Author, action: string, { id, name, color }: db.Label): Promise<void> =>
  recordAudit(tx, author, { action, subject: `inbox-label:${id}`, detail: { name, color } });
