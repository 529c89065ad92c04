import { operatorAuthor, recordAudit } from '../accounts/audit.ts';
import type { InboundNotice } from '../channels/carrier.ts';
import { claimBook } from '../contacts/limits.ts';
import { newContact } from '../contacts/read.ts';
import type { Channel } from '../core/channels.ts';
import { bigint, rowsOf, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { firstIdAt } from '../core/ids.ts';
import { isUserId, parsePhone, personOf } from '../core/phone.ts';
import { DAY_MS } from '../core/time.ts';
import type { ReceivedMessage } from '../messages/inbound.ts';
import { copyConsent, learnAddresses, moveAliases } from '../messages/person-aliases.ts';
import { publishInboxChanges } from './conversations.ts';
import { inboxMedia } from './fetch.ts';
import { CHANGED_CONVERSATION, type ChangedConversation, findChanged } from './store.ts';

/** A notice of a network about a person or about an earlier message of theirs, instead of a message. */
export type NoticeArrival = ReceivedMessage & { readonly peer: string; readonly notice: InboundNotice };

/**
 * Applies the notices of networks, in their order, in the transaction that receives them. They count as no message:
 * nothing is unread, no window opens and no contact is created. The caller has locked the inboxes. Returns those about
 * messages that are not in a thread.
 */
export async function applyNotices(tx: Db, arrivals: readonly NoticeArrival[]): Promise<NoticeArrival[]> {
  const early: NoticeArrival[] = [];
  for (const arrival of arrivals) {
    const { notice } = arrival;
    if (notice.kind === 'moved') await moveToNewAddress(tx, arrival, notice.address);
    else if (!(await markDeleted(tx, arrival, notice.messageId))) early.push(arrival);
  }
  return early;
}

/** People can delete a message for two days (Cloud API, revoke webhook); a message may be on its way for one more. */
const DELETABLE_MS = 3 * DAY_MS;

/**
 * Marks a message of a person as deleted, and removes its text from the thread and the list; its file is not fetched any
 * more. Returns false if no thread has it.
 */
async function markDeleted(
  tx: Db,
  { accountId, channel, peer, at }: NoticeArrival,
  messageId: string,
): Promise<boolean> {
  const marked = await maybeOne<{ chatId: string; id: string }>(
    tx,
    sql`UPDATE inbox_message m SET message_type = 'DELETED', text = '', media = NULL
        FROM conversation c, inbound_message i
        WHERE c.account_id = ${accountId} AND c.person = ${personOf(peer)} AND c.channel = ${channel}
          AND m.account_id = ${accountId} AND m.chat_id = c.chat_id AND m.direction = 'INBOUND'
          AND m.id >= ${firstIdAt(new Date(at.getTime() - DELETABLE_MS))}
          AND i.account_id = ${accountId} AND i.id = m.id AND i.details ->> 'id' = ${messageId}
        RETURNING m.chat_id AS "chatId", m.id`,
  );
  if (!marked) return false;
  const { chatId, id } = marked;
  await inboxMedia.drop(tx, { accountId, keys: [id] });
  await exec(
    tx,
    sql`UPDATE conversation c SET last_type = 'DELETED', last_text = ''
        WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId}
          AND NOT EXISTS (SELECT FROM inbox_message n
                          WHERE n.account_id = ${accountId} AND n.chat_id = ${chatId} AND n.id > ${id})`,
  );
  await publish(tx, accountId, [{ chatId, messageId: id }]);
  return true;
}

/**
 * Moves the thread, the contact and the consent of a person to the number or user id that the person has now. Opt-outs
 * hold for the old number too. A thread or contact that the new one has already stays, and the old one with it.
 */
async function moveToNewAddress(tx: Db, { accountId, channel, peer }: NoticeArrival, address: string): Promise<void> {
  const [from, to] = [personOf(peer), personOf(address)];
  if (from === to) return;
  // A new user id of a person whose number is known: the number stays the address.
  if (isUserId(address) && !isUserId(peer)) return learnAddresses(tx, [{ accountId, alias: address, address: peer }]);
  if (!isUserId(address)) await moveAliases(tx, { accountId, from, to });
  await copyConsent(tx, { accountId, from, to: address });
  const contact = await moveContact(tx, { accountId, from, address });
  const threads = await many<{ chatId: string }>(
    tx,
    sql`UPDATE conversation c SET peer = ${address}
        WHERE c.account_id = ${accountId} AND c.person = ${from} AND c.channel = ${channel}
          AND NOT EXISTS (SELECT FROM conversation n
                          WHERE n.account_id = ${accountId} AND n.person = ${to} AND n.channel = ${channel})
        RETURNING c.chat_id AS "chatId"`,
  );
  const detail = { from: peer, channel, contactId: contact?.id ?? null, conversations: threads.length };
  const event = { action: 'person.number_change', subject: `number:${address}`, detail };
  await recordAudit(tx, operatorAuthor(accountId, channel), event);
  await publish(
    tx,
    accountId,
    threads.map(({ chatId }) => ({ chatId, messageId: null })),
  );
}

type Moved = { readonly accountId: number; readonly from: string; readonly address: string };

async function moveContact(tx: Db, { accountId, from, address }: Moved): Promise<{ id: number } | undefined> {
  const phone = parsePhone(address, { defaultCountry: null, numberChecks: 'lenient' });
  if (!phone) return undefined;
  await claimBook(tx, { accountId, to: 'change' });
  const { numberType, country, channels } = newContact({ ...phone, isValid: true });
  return maybeOne(
    tx,
    sql`UPDATE contact c SET phone_number = ${address}, is_valid = true, number_type = ${numberType},
          country = ${country}, channels = ${channels}, updated_at = now()
        WHERE c.account_id = ${accountId} AND c.person = ${from}
          AND NOT EXISTS (SELECT FROM contact n WHERE n.account_id = ${accountId} AND n.person = ${personOf(address)})
        RETURNING c.id`,
  );
}

/** A person, named by an alias, whose thread is that of the peer. */
export type Merge = {
  readonly accountId: number;
  readonly channel: Channel;
  readonly alias: string;
  readonly peer: string;
};

const MERGED_THREAD = columns({
  accountId: as<number>('c.account_id'),
  peer: as<string>('u.peer'),
  chatId: as<string>('c.chat_id'),
  /** The thread under the other address, which stays; null: there is none. */
  stays: as<string | null>('n.chat_id'),
});
type MergedThread = RowOf<typeof MERGED_THREAD>;

/**
 * Continues the threads of persons who turn out to be known under another address there. The caller has locked the
 * inboxes.
 */
export async function mergeThreads(tx: Db, merges: readonly Merge[]): Promise<void> {
  const found = await many(
    tx,
    sql`SELECT DISTINCT ON (c.account_id, c.chat_id) ${MERGED_THREAD}
        FROM ${rowsOf(merges, {
          account_id: bigint((m) => m.accountId),
          channel: text((m) => m.channel),
          alias: text((m) => personOf(m.alias)),
          peer: text((m) => m.peer),
        })} AS u
        JOIN conversation c ON c.account_id = u.account_id AND c.person = u.alias AND c.channel = u.channel
        LEFT JOIN conversation n ON n.account_id = u.account_id AND n.person = person_of(u.peer) AND n.channel = u.channel
        ORDER BY c.account_id, c.chat_id`,
  );
  for (const thread of found) await mergeThread(tx, thread);
}

async function mergeThread(tx: Db, { accountId, peer, chatId, stays }: MergedThread): Promise<void> {
  if (stays === null) {
    await exec(tx, sql`UPDATE conversation SET peer = ${peer} WHERE account_id = ${accountId} AND chat_id = ${chatId}`);
    return publish(tx, accountId, [{ chatId, messageId: null }]);
  }
  const changed = await moveThread(tx, { accountId, from: chatId, to: stays });
  const detail = { from: chatId, to: stays };
  await recordAudit(tx, operatorAuthor(accountId), { action: 'person.merge', subject: `number:${peer}`, detail });
  const events = [stays, chatId].map((id) => ({
    accountId,
    kind: 'conversation' as const,
    chatId: id,
    messageId: null,
  }));
  await publishInboxChanges(tx, { changed: changed ? [changed] : [], events });
}

/** Moves everything of one thread to another, and deletes the first. */
const moveThread = (
  tx: Db,
  { accountId, from, to }: { readonly accountId: number; readonly from: string; readonly to: string },
): Promise<ChangedConversation | undefined> =>
  maybeOne(
    tx,
    sql`WITH old AS (
          DELETE FROM conversation WHERE account_id = ${accountId} AND chat_id = ${from} RETURNING *),
        counted AS (
          UPDATE inbox_count n SET conversations = n.conversations - 1 FROM old o
          WHERE n.account_id = ${accountId} AND n.archived = o.archived AND n.channel = o.channel
            AND n.unread = (o.unread > 0)),
        messages AS (
          UPDATE inbox_message SET chat_id = ${to} WHERE account_id = ${accountId} AND chat_id = ${from}),
        notes AS (UPDATE inbox_note SET chat_id = ${to} WHERE account_id = ${accountId} AND chat_id = ${from}),
        watched AS (UPDATE inbox_watch SET chat_id = ${to} WHERE account_id = ${accountId} AND chat_id = ${from}),
        unlabelled AS (
          DELETE FROM conversation_label WHERE account_id = ${accountId} AND chat_id = ${from} RETURNING label_id),
        labelled AS (
          INSERT INTO conversation_label (account_id, label_id, chat_id)
          SELECT ${accountId}, label_id, ${to} FROM unlabelled ON CONFLICT DO NOTHING)
        UPDATE conversation c SET unread = c.unread + o.unread, archived = c.archived AND o.archived,
          snoozed_until = CASE WHEN c.archived AND o.archived THEN c.snoozed_until END,
          assignee_id = coalesce(c.assignee_id, o.assignee_id),
          profile_name = coalesce(nullif(c.profile_name, ''), o.profile_name),
          window_expires_at = CASE WHEN c.identity = o.identity
            THEN greatest(c.window_expires_at, o.window_expires_at) ELSE c.window_expires_at END,
          free_entry_until = CASE WHEN c.identity = o.identity
            THEN greatest(c.free_entry_until, o.free_entry_until) ELSE c.free_entry_until END,
          last_direction = CASE WHEN o.last_at > c.last_at THEN o.last_direction ELSE c.last_direction END,
          last_type = CASE WHEN o.last_at > c.last_at THEN o.last_type ELSE c.last_type END,
          last_text = CASE WHEN o.last_at > c.last_at THEN o.last_text ELSE c.last_text END,
          last_at = greatest(c.last_at, o.last_at), created_at = least(c.created_at, o.created_at)
        FROM old o WHERE c.account_id = ${accountId} AND c.chat_id = ${to}
        RETURNING ${CHANGED_CONVERSATION}`,
  );

/** Announces changed conversations, and the messages in them that were changed. */
async function publish(
  tx: Db,
  accountId: number,
  places: readonly { readonly chatId: string; readonly messageId: string | null }[],
): Promise<void> {
  const found = await Promise.all(places.map(({ chatId }) => findChanged(tx, { accountId, chatId })));
  const events = places.flatMap(({ chatId, messageId }) => [
    ...(messageId === null ? [] : [{ accountId, kind: 'message' as const, chatId, messageId }]),
    { accountId, kind: 'conversation' as const, chatId, messageId: null },
  ]);
  await publishInboxChanges(tx, { changed: found.filter((one) => one !== undefined), events });
}
