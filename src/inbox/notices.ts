import { operatorAuthor, recordAudit } from '../accounts/audit.ts';
import type { InboundNotice } from '../channels/carrier.ts';
import { claimBook } from '../contacts/limits.ts';
import { newContact } from '../contacts/read.ts';
import type { Channel } from '../core/channels.ts';
import { type Db, exec, many, maybeOne, sql } from '../core/db/query.ts';
import { firstIdAt } from '../core/ids.ts';
import { parsePhone, personOf } from '../core/phone.ts';
import { DAY_MS } from '../core/time.ts';
import type { ReceivedMessage } from '../messages/inbound.ts';
import { publishInboxChanges } from './conversations.ts';
import { findChanged } from './store.ts';

/** A notice of a network about a person or about an earlier message of theirs, instead of a message. */
export type NoticeArrival = ReceivedMessage & { readonly peer: string; readonly notice: InboundNotice };

/**
 * Applies the notices of networks, in their order, in the transaction that receives them. They count as no message:
 * nothing is unread, no window opens and no contact is created. The caller has locked the inboxes.
 */
export async function applyNotices(tx: Db, arrivals: readonly NoticeArrival[]): Promise<void> {
  for (const arrival of arrivals) {
    const { notice } = arrival;
    if (notice.kind === 'deleted') await markDeleted(tx, arrival, notice.messageId);
    else await moveToNewAddress(tx, arrival, notice.address);
  }
}

/** People can delete a message for two days (Cloud API, revoke webhook); a message may be on its way for one more. */
const DELETABLE_MS = 3 * DAY_MS;

/** Marks a message of a person as deleted, and removes its text from the thread and the list. */
async function markDeleted(tx: Db, { accountId, channel, peer, at }: NoticeArrival, messageId: string): Promise<void> {
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
  if (!marked) return;
  const { chatId, id } = marked;
  await exec(
    tx,
    sql`UPDATE conversation c SET last_type = 'DELETED', last_text = ''
        WHERE c.account_id = ${accountId} AND c.chat_id = ${chatId}
          AND NOT EXISTS (SELECT FROM inbox_message n
                          WHERE n.account_id = ${accountId} AND n.chat_id = ${chatId} AND n.id > ${id})`,
  );
  await publish(tx, accountId, [{ chatId, messageId: id }]);
}

/**
 * Moves the thread, the contact and the consent of a person to the number or user id that the person has now. Opt-outs
 * hold for the old number too. A thread or contact that the new one has already stays, and the old one with it.
 */
async function moveToNewAddress(tx: Db, { accountId, channel, peer }: NoticeArrival, address: string): Promise<void> {
  const [from, to] = [personOf(peer), personOf(address)];
  if (from === to) return;
  await exec(
    tx,
    sql`WITH purposes AS (
          INSERT INTO purpose_opt_out (account_id, phone_number, channel, purpose, source, created_at)
          SELECT o.account_id, ${address}, o.channel, o.purpose, o.source, o.created_at FROM purpose_opt_out o
          WHERE o.account_id = ${accountId} AND o.person = ${from} ${ofOne(channel, address)} ON CONFLICT DO NOTHING)
        INSERT INTO opt_out (account_id, phone_number, channel, source, created_at)
        SELECT o.account_id, ${address}, o.channel, o.source, o.created_at FROM opt_out o
        WHERE o.account_id = ${accountId} AND o.person = ${from} ${ofOne(channel, address)}
        ON CONFLICT (account_id, person, channel) DO NOTHING`,
  );
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

/** A user id exists on its network only; a number may have opted out of any channel. */
const ofOne = (channel: Channel, address: string) =>
  address.startsWith('+') ? sql`` : sql`AND o.channel = ${channel}`;

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
