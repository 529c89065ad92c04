import { recordAudit } from '../../../../identity/audit/record.ts';
import type { Db } from '../../../../platform/db/query.ts';
import { AppError } from '../../../../platform/errors.ts';
import type { Actor } from '../../../../platform/lib/actor.ts';
import { newId } from '../../../../platform/lib/ids.ts';
import * as db from '../../notes/sql.ts';
import { publishInboxChanges } from '../../publish.ts';
import { claimInboxes, findEndpoints } from '../../sql.ts';

type Key = { readonly chatId: string };

/** Writes a note about a conversation, and shows it in live views. Nothing is sent. Errors: 404. */
export async function writeNote(tx: Db, actor: Actor, { chatId, text }: Key & { text: string }): Promise<db.Note> {
  const { accountId } = actor;
  await claimInboxes(tx, { accountIds: [accountId] });
  if (!(await findEndpoints(tx, { accountId, chatId }))) throw new AppError('not_found');
  const author = actor.username ?? 'API';
  const note = await db.insertNote(tx, { accountId, chatId, id: newId(), authorId: actor.userId, author, text });
  await publishNote(tx, { accountId, chatId, id: note.id });
  return note;
}

/** Deletes a note, with an audit entry that does not repeat it. Errors: 404. */
export async function deleteNote(tx: Db, actor: Actor, { chatId, id }: Key & { id: string }): Promise<void> {
  const { accountId } = actor;
  await claimInboxes(tx, { accountIds: [accountId] });
  const gone = await db.deleteNote(tx, { accountId, chatId, id });
  if (!gone) throw new AppError('not_found');
  const detail = { note: id, author: gone.author };
  await recordAudit(tx, actor, { action: 'conversation.delete-note', subject: `conversation:${chatId}`, detail });
  await publishNote(tx, { accountId, chatId, id });
}

const publishNote = (tx: Db, { accountId, chatId, id }: Key & { accountId: number; id: string }): Promise<void> =>
  publishInboxChanges(tx, { changed: [], events: [{ accountId, kind: 'note', chatId, messageId: id }] });
