import { operatorAuthor } from '../../identity/audit/record.ts';
import type { Arrival } from '../../messaging/inbound/receive.ts';
import { consentWordOf } from '../../messaging/consent/words.ts';
import { describePhone } from '../contacts/read.ts';
import { listIdsByNumber } from '../contacts/sql.ts';
import { upsertContacts, type UpsertRow } from '../contacts/upsert.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { newId } from '../../platform/lib/ids.ts';
import { toE164 } from '../../platform/lib/phone/phone.ts';
import { parsePhone } from '../../platform/lib/phone/phone-details.ts';
import { insertInboxMedia } from './media/sql.ts';
import { type ChangedConversation, claimInboxes, insertConversations, type ConversationUpdate } from './sql.ts';
import { publishInboxChanges } from './publish.ts';
import { applyRules } from './rules/apply.ts';
import { insertThreadMessages, type ThreadMedia } from './thread/sql.ts';
import { DAY_MS } from '../../platform/lib/time.ts';

type WithPeer = Arrival & { readonly peer: string };

/** Time for which WhatsApp allows free-form messages after a message from the person. */
const WINDOW_MS = DAY_MS;

/**
 * Adds inbound messages to the threads of their senders, in the given order and in the transaction that stores them:
 * creates conversations and contacts that do not exist, counts unread messages, and unarchives conversations. The
 * caller has excluded messages that were received twice.
 */
export async function receiveIntoInbox(tx: Db, arrivals: readonly Arrival[]): Promise<void> {
  if (arrivals.length === 0) return;
  const placed = arrivals.map((arrival) => ({ ...arrival, peer: toE164(arrival.source) ?? arrival.source }));
  const byAccount = Map.groupBy(placed, (arrival) => arrival.accountId);
  await claimInboxes(tx, { accountIds: [...byAccount.keys()].sort((a, b) => a - b) });
  for (const [accountId, own] of [...byAccount].sort(([a], [b]) => a - b)) await createContacts(tx, accountId, own);
  const threads = Map.groupBy(placed, threadKey);
  const changed = await insertConversations(tx, {
    rows: [...threads.values()].map(toConversationUpdate),
    unarchive: true,
  });
  const chatIds = new Map(changed.map((conversation) => [threadKey(conversation), conversation.chatId]));
  const messages = placed.flatMap((arrival) => {
    const chatId = chatIds.get(threadKey(arrival));
    return chatId === undefined ? [] : [{ ...arrival, chatId }];
  });
  await insertThreadMessages(
    tx,
    messages.map((message) => ({
      ...message,
      direction: 'INBOUND',
      media: pendingMedia(message),
      consent: consentOf(message),
    })),
  );
  const withMedia = messages.flatMap(({ media, ...message }) => (media ? [{ ...message, media }] : []));
  if (withMedia.length > 0) await insertInboxMedia(tx, withMedia);
  await applyRules(tx, { messages, changed, now: new Date() });
  await publishInboxChanges(tx, { changed, events: eventsOf(messages, changed) });
}

type Thread = { readonly accountId: number; readonly channel: Channel; readonly peer: string };
const threadKey = ({ accountId, channel, peer }: Thread): string => JSON.stringify([accountId, channel, peer]);

/** Combines the messages of one person, the newest last, to the update of their conversation. */
function toConversationUpdate(arrivals: readonly WithPeer[]): ConversationUpdate {
  const [first] = arrivals;
  const last = arrivals.at(-1);
  if (!first || !last) throw new Error('a conversation has a message');
  const { accountId, channel, peer, messageType, text } = last;
  const newest = Math.max(...arrivals.map(({ at }) => at.getTime()));
  return {
    accountId,
    channel,
    peer,
    messageType,
    text,
    newChatId: newId(),
    identity: identityOf(last),
    profileName: last.profileName ?? '',
    unread: arrivals.length,
    windowExpiresAt: channel === 'WHATSAPP' ? new Date(newest + WINDOW_MS) : null,
    direction: 'INBOUND',
    at: new Date(),
  };
}

/** Returns the sender of ours that received a message: a number with its plus, a short code as it is. */
const identityOf = ({ channel, destination }: Arrival): string =>
  channel === 'SMS' && LONG_NUMBER.test(destination) ? (toE164(destination) ?? destination) : destination;
/** A full phone number; shorter ones are short codes, even if they begin like a country code. */
const LONG_NUMBER = /^\d{9,15}$/;

/**
 * Creates contacts for senders that are not contacts yet, within the contact limit. Existing contacts are not changed.
 */
async function createContacts(tx: Db, accountId: number, arrivals: readonly WithPeer[]): Promise<void> {
  const names = new Map(arrivals.map(({ peer, profileName }) => [peer, profileName]));
  const numbers = [...names.keys()].filter((peer) => peer.startsWith('+'));
  const known = new Set((await listIdsByNumber(tx, { accountId, numbers })).map((contact) => contact.phoneNumber));
  const rows = numbers.flatMap((number) => (known.has(number) ? [] : toContact(number, names.get(number) ?? null)));
  await upsertContacts(tx, operatorAuthor(accountId), rows);
}

function toContact(number: string, name: string | null): UpsertRow[] {
  const phone = parsePhone(number);
  if (!phone) return [];
  const unknown = { firstName: null, lastName: null, gender: null, email: null, isTest: false, customFields: {} };
  return [{ ...describePhone(phone), ...unknown, phoneNumber: phone.e164, givenFullName: name?.trim() || null }];
}

const pendingMedia = ({ media }: Arrival): ThreadMedia | null =>
  media && { state: 'PENDING', mediaId: null, mimeType: media.mimeType, fileName: media.fileName };

function consentOf({ text }: Arrival) {
  const keyword = consentWordOf(text);
  return keyword && (keyword === 'stop' ? 'OPTED_OUT' : 'OPTED_IN');
}

const eventsOf = (
  messages: readonly { readonly accountId: number; readonly id: string; readonly chatId: string }[],
  changed: readonly ChangedConversation[],
) => [
  ...messages.map(({ accountId, id, chatId }) => ({ accountId, kind: 'message' as const, chatId, messageId: id })),
  ...changed.map(({ accountId, chatId }) => ({ accountId, kind: 'conversation' as const, chatId, messageId: null })),
];
