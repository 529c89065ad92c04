import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import * as db from './sql.ts';
import { publishInboxChanges } from './publish.ts';

/** Marks a conversation as read; no error if it was read already. Errors: 404. */
export const markRead = (tx: Db, actor: Author, chatId: string): Promise<void> =>
  changeConversation(tx, actor, chatId, (key) => db.moveToRead(tx, key));

/** Archives or unarchives a conversation, with an audit entry. Errors: 404. */
export const setArchived = (tx: Db, actor: Author, chatId: string, archived: boolean): Promise<void> =>
  changeConversation(tx, actor, chatId, (key) => db.updateArchived(tx, { ...key, archived }), {
    action: archived ? 'conversation.archive' : 'conversation.unarchive',
  });

/**
 * Assigns a conversation to a user, or to nobody (null), with an audit entry.
 * Errors: 404 when there is no such conversation, 400 when no user of the account who may reply has this id.
 */
export async function assign(tx: Db, actor: Author, chatId: string, userId: number | null): Promise<void> {
  if (userId !== null && !(await db.findAssignableUser(tx, { accountId: actor.accountId, userId })))
    throw invalidFields([{ field: 'userId', message: 'no user with this id can be assigned' }]);
  await changeConversation(tx, actor, chatId, (key) => db.updateAssignee(tx, { ...key, userId }), {
    action: 'conversation.assign',
    detail: { userId },
  });
}

type Key = { readonly accountId: number; readonly chatId: string };
type Audited = { readonly action: string; readonly detail?: Readonly<Record<string, unknown>> };

/** Changes a conversation. If it has that state already, nothing is written and nobody is notified. */
async function changeConversation(
  tx: Db,
  actor: Author,
  chatId: string,
  move: (key: Key) => Promise<db.ChangedConversation | undefined>,
  audited?: Audited,
): Promise<void> {
  const { accountId } = actor;
  const key = { accountId, chatId };
  await db.claimInboxes(tx, { accountIds: [accountId] });
  const changed = await move(key);
  if (!changed) {
    if (!(await db.findEndpoints(tx, key))) throw new AppError('not_found');
    return;
  }
  if (audited) await recordAudit(tx, actor, { ...audited, subject: `conversation:${chatId}` });
  const event = { accountId, kind: 'conversation', chatId, messageId: null } as const;
  await publishInboxChanges(tx, { changed: [changed], events: [event] });
}
