import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import * as db from './sql.ts';
import { publishInboxChanges } from './publish.ts';

/** Everything in it has been read. No error when it had been. 404 when there is no such conversation. */
export const markRead = (tx: Db, actor: Author, chatId: string): Promise<void> =>
  changeConversation(tx, actor, chatId, (key) => db.moveToRead(tx, key));

/** Puts a conversation into the archive or takes it out; written into the audit log. 404 when there is none such. */
export const setArchived = (tx: Db, actor: Author, chatId: string, archived: boolean): Promise<void> =>
  changeConversation(tx, actor, chatId, (key) => db.updateArchived(tx, { ...key, archived }), {
    action: archived ? 'conversation.archive' : 'conversation.unarchive',
  });

/**
 * Gives a conversation to a person, or to nobody (null); written into the audit log.
 * Errors: 404 when there is no such conversation, 400 when nobody of the account who may answer has this id.
 */
export async function assign(tx: Db, actor: Author, chatId: string, userId: number | null): Promise<void> {
  if (userId !== null && !(await db.findAssignableUser(tx, { accountId: actor.accountId, userId })))
    throw invalidFields([{ field: 'userId', message: 'nobody with this id can be assigned' }]);
  await changeConversation(tx, actor, chatId, (key) => db.updateAssignee(tx, { ...key, userId }), {
    action: 'conversation.assign',
    detail: { userId },
  });
}

type Key = { readonly accountId: number; readonly chatId: string };
type Audited = { readonly action: string; readonly detail?: Readonly<Record<string, unknown>> };

/** What was so already is not changed again, and told to nobody. */
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
