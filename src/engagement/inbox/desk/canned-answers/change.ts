import { type Author, recordAudit } from '../../../../identity/audit/record.ts';
import type { Db } from '../../../../platform/db/query.ts';
import { AppError } from '../../../../platform/errors.ts';
import type { CannedAnswerIn } from './schema.ts';
import * as db from './sql.ts';

const MAX_CANNED_ANSWERS = 500;

/**
 * Adds a canned answer for all agents of the account. Errors: 409 when the shortcut is taken, or there are already 500.
 */
export async function addCannedAnswer(
  tx: Db,
  author: Author,
  { shortcut, text }: CannedAnswerIn,
): Promise<db.CannedAnswer> {
  const { accountId } = author;
  if ((await db.countCannedAnswers(tx, { accountId })) >= MAX_CANNED_ANSWERS)
    throw new AppError('conflict', { message: `An account may have ${MAX_CANNED_ANSWERS} canned answers` });
  const made = await db.insertCannedAnswer(tx, { accountId, shortcut: shortcut.toLowerCase(), text: text.trim() });
  if (!made) throw taken();
  await record(tx, author, 'canned-answer.add', made);
  return made;
}

/** Changes a canned answer; omitted fields are unchanged. Errors: 404; 409 when the shortcut is taken. */
export async function changeCannedAnswer(
  tx: Db,
  author: Author,
  { id, shortcut, text }: Partial<CannedAnswerIn> & { readonly id: number },
): Promise<db.CannedAnswer> {
  const input = { id, shortcut: shortcut?.toLowerCase() ?? null, text: text?.trim() ?? null };
  const made = await db.updateCannedAnswer(tx, { accountId: author.accountId, ...input }).catch(explainTaken);
  if (!made) throw new AppError('not_found');
  await record(tx, author, 'canned-answer.change', made);
  return made;
}

/** Deletes a canned answer. Errors: 404. */
export async function removeCannedAnswer(tx: Db, author: Author, { id }: { readonly id: number }): Promise<void> {
  const gone = await db.deleteCannedAnswer(tx, { accountId: author.accountId, id });
  if (!gone) throw new AppError('not_found');
  await record(tx, author, 'canned-answer.remove', gone);
}

const taken = (): AppError =>
  new AppError('conflict', { message: 'A canned answer with this shortcut already exists' });

const explainTaken = (cause: unknown): never => {
  throw cause instanceof Error && 'code' in cause && cause.code === '23505' ? taken() : cause;
};

/** The audit log names the answer, not its text. */
const record = (tx: Db, author: Author, action: string, { id, shortcut }: db.CannedAnswer): Promise<void> =>
  recordAudit(tx, author, { action, subject: `canned-answer:${id}`, detail: { shortcut } });
