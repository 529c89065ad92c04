import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import * as db from './sql.ts';
import { publishInboxChanges } from './publish.ts';
import { DAY_MS } from '../../platform/lib/time.ts';

/** Marks a conversation as read; no error if it is already read. Errors: 404. */
export const markRead = (tx: Db, actor: Author, chatId: string): Promise<void> =>
  changeConversation(tx, actor, chatId, (key) => db.moveToRead(tx, key));

/** Marks a conversation as unread; no error if it is already unread. Errors: 404. */
export const markUnread = (tx: Db, actor: Author, chatId: string): Promise<void> =>
  changeConversation(tx, actor, chatId, (key) => db.moveToUnread(tx, key));

/**
 * Archives a conversation until an instant, or until the person writes before then, with an audit entry. Errors: 404;
 * 400 when the instant is not within the next year.
 */
export async function snooze(
  tx: Db,
  actor: Author,
  chatId: string,
  { until, now }: { until: Date | null; now: Date },
): Promise<void> {
  const inMs = (until?.getTime() ?? 0) - now.getTime();
  if (until === null || inMs <= 0 || inMs > MAX_SNOOZE_MS)
    throw invalidFields([{ field: 'until', message: 'must be in the future, and within a year' }]);
  await changeConversation(tx, actor, chatId, (key) => db.updateSnoozed(tx, { ...key, until }), {
    action: 'conversation.snooze',
    detail: { until: until.toISOString() },
  });
}

const MAX_SNOOZE_MS = 366 * DAY_MS;

/** Archives or unarchives a conversation, with an audit entry. Errors: 404. */
export const setArchived = (tx: Db, actor: Author, chatId: string, archived: boolean): Promise<void> =>
  changeConversation(tx, actor, chatId, (key) => db.updateArchived(tx, { ...key, archived }), {
    action: archived ? 'conversation.archive' : 'conversation.unarchive',
  });

/**
 * Assigns a conversation to a user, or to no one (null), with an audit entry. Errors: 404 when there is no such
 * conversation, 400 when no user of the account who may reply has this id.
 */
export async function assign(tx: Db, actor: Author, chatId: string, userId: number | null): Promise<void> {
  if (userId !== null && !(await db.findAssignableUser(tx, { accountId: actor.accountId, userId })))
    throw invalidFields([{ field: 'userId', message: 'no user with this id can be assigned' }]);
  await changeConversation(tx, actor, chatId, (key) => db.updateAssignee(tx, { ...key, userId }), {
    action: 'conversation.assign',
    detail: { userId },
  });
}

export type ConversationKey = { readonly accountId: number; readonly chatId: string };
type Audited = { readonly action: string; readonly detail?: Readonly<Record<string, unknown>> };

/**
 * Changes a conversation in a transaction that has claimed no inbox yet, with an audit entry if `audited`. When `move`
 * returns undefined because the conversation already has that state, nothing is written and no one is notified. Errors:
 * 404.
 */
export async function changeConversation(
  tx: Db,
  actor: Author,
  chatId: string,
  move: (key: ConversationKey) => Promise<db.ChangedConversation | undefined>,
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
