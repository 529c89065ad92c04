import { operatorAuthor } from '../accounts/audit.ts';
import { type UpsertRow, upsertContacts } from '../contacts/contacts.ts';
import { newContact } from '../contacts/read.ts';
import { listIdsByPerson } from '../contacts/store.ts';
import { CHANNEL, type Channel, isRoutedBySender } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { isUserId, type NumberRules, parsePhone, personOf, toE164 } from '../core/phone.ts';
import { HOUR_MS } from '../core/time.ts';
import type { ReceivedMessage } from '../messages/inbound.ts';
import { type AddressPair, findPersons, keyOfPerson, learnAddresses } from '../messages/person-aliases.ts';
import { queueConsentAnswers } from './consent-answers.ts';
import { publishInboxChanges } from './conversations.ts';
import { inboxMedia } from './fetch.ts';
import { applyNotices, type Merge, mergeThreads } from './notices.ts';
import { applyRules } from './rules.ts';
import {
  type ChangedConversation,
  type ConversationUpdate,
  claimInboxes,
  insertConversations,
  insertThreadMessages,
  type ThreadMedia,
} from './store.ts';

type WithPeer = ReceivedMessage & { readonly peer: string };

/**
 * Adds inbound messages to the threads of their senders, in the given order and in the transaction that stores them:
 * creates conversations and contacts that do not exist, counts unread messages, and unarchives conversations. The
 * caller has excluded messages that were received twice.
 */
export async function receiveIntoInbox(tx: Db, arrivals: readonly ReceivedMessage[]): Promise<void> {
  if (arrivals.length === 0) return;
  const accountIds = new Set(arrivals.map((arrival) => arrival.accountId));
  await claimInboxes(tx, { accountIds: [...accountIds].sort((a, b) => a - b) });
  const all = await withPeers(tx, arrivals);
  // Before the messages: one from a new number continues the thread that the number takes over.
  const early = await applyNotices(
    tx,
    all.flatMap(({ notice, ...rest }) => (notice ? [{ ...rest, notice }] : [])),
  );
  const placed = all.filter(({ notice }) => notice === null);
  if (placed.length === 0) return;
  const byAccount = Map.groupBy(placed, (arrival) => arrival.accountId);
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
  const files = messages.flatMap(({ accountId, id, chatId, media }) =>
    media ? [{ accountId, key: id, payload: { id, chatId, media } }] : [],
  );
  await inboxMedia.add(tx, ...files);
  await queueConsentAnswers(tx, messages);
  await applyRules(tx, { messages, changed, now: new Date() });
  await publishInboxChanges(tx, { changed, events: eventsOf(messages, changed) });
  // A network may report the end of a message together with the message.
  await applyNotices(tx, early);
}

/**
 * Finds the persons who wrote. WhatsApp may name a person by a user id, or by another number than we do: what it says
 * about that is stored, and the thread continues.
 */
async function withPeers(tx: Db, arrivals: readonly ReceivedMessage[]): Promise<WithPeer[]> {
  const written = arrivals.map((arrival) => ({ ...arrival, peer: toE164(arrival.source) ?? arrival.source }));
  const named = written.filter(({ channel }) => CHANNEL[channel].userIds);
  if (named.length === 0) return written;
  await learnAddresses(tx, named.flatMap(toPair));
  const persons = await findPersons(
    tx,
    named.map(({ accountId, peer }) => ({ accountId, phoneNumber: peer })),
  );
  if (persons.size === 0) return written;
  const merges: Merge[] = [];
  const found = written.map((arrival) => {
    const { accountId, channel, peer: alias } = arrival;
    const peer = CHANNEL[channel].userIds ? persons.get(keyOfPerson({ accountId, phoneNumber: alias })) : undefined;
    if (peer === undefined) return arrival;
    merges.push({ accountId, channel, alias, peer });
    return { ...arrival, peer };
  });
  await mergeThreads(tx, merges);
  return found;
}

/** The number is the address, whichever of the two the network used. */
function toPair({ accountId, peer, alias }: WithPeer): AddressPair[] {
  if (alias === null) return [];
  return isUserId(peer) ? [{ accountId, alias: peer, address: alias }] : [{ accountId, alias, address: peer }];
}

type Thread = { readonly accountId: number; readonly channel: Channel; readonly peer: string };
const threadKey = ({ accountId, channel, peer }: Thread): string =>
  JSON.stringify([accountId, channel, personOf(peer)]);

/** Combines the messages of one person, the newest last, to the update of their conversation. */
function toConversationUpdate(arrivals: readonly WithPeer[]): ConversationUpdate {
  const [first] = arrivals;
  const last = arrivals.at(-1);
  if (!first || !last) throw new Error('a conversation has a message');
  const { accountId, channel, peer, messageType, text } = last;
  const { sessionHours } = CHANNEL[channel];
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
    windowExpiresAt: sessionHours === null ? null : new Date(newest + sessionHours * HOUR_MS),
    freeEntryUntil: freeEntryOf(arrivals),
    direction: 'INBOUND',
    at: new Date(),
  };
}

/** Hours in which an answer to a person who came from an advertisement opens the free window (`billing.ts`). */
const FREE_ENTRY_HOURS = 24;

function freeEntryOf(arrivals: readonly WithPeer[]): Date | null {
  const times = arrivals.filter(({ content }) => content?.referral).map(({ at }) => at.getTime());
  return times.length === 0 ? null : new Date(Math.max(...times) + FREE_ENTRY_HOURS * HOUR_MS);
}

/** Returns the sender of ours that received a message: a number with its plus, a short code as it is. */
const identityOf = ({ channel, destination }: ReceivedMessage): string =>
  !isRoutedBySender(channel) && LONG_NUMBER.test(destination) ? (toE164(destination) ?? destination) : destination;
/** A full phone number; shorter ones are short codes, even if they begin like a country code. */
const LONG_NUMBER = /^\d{9,15}$/;

/**
 * Creates contacts for senders that are not contacts yet, within the contact limit. Existing contacts are not changed.
 */
async function createContacts(tx: Db, accountId: number, arrivals: readonly WithPeer[]): Promise<void> {
  const persons = new Map(
    arrivals.flatMap((arrival) => (arrival.peer.startsWith('+') ? [[personOf(arrival.peer), arrival]] : [])),
  );
  const known = await listIdsByPerson(tx, { accountId, numbers: [...persons.keys()] });
  for (const { person } of known) persons.delete(person);
  await upsertContacts(tx, operatorAuthor(accountId), [...persons.values()].flatMap(toContact));
}

/** A network knows better than the numbering plans which of its numbers exist. */
const RULES: NumberRules = { defaultCountry: null, numberChecks: 'lenient' };

function toContact({ peer, profileName }: WithPeer): UpsertRow[] {
  const phone = parsePhone(peer, RULES);
  if (!phone) return [];
  const contact = newContact({ ...phone, isValid: true });
  return [{ ...contact, phoneNumber: phone.e164, givenFullName: profileName?.trim() || null }];
}

const pendingMedia = ({ media }: ReceivedMessage): ThreadMedia | null =>
  media && { state: 'PENDING', mediaId: null, mimeType: media.mimeType, fileName: media.fileName };

const CONSENTS = { STOP: 'OPTED_OUT', START: 'OPTED_IN', HELP: null } as const;
const consentOf = ({ said }: ReceivedMessage) => said && CONSENTS[said.says];

const eventsOf = (
  messages: readonly { readonly accountId: number; readonly id: string; readonly chatId: string }[],
  changed: readonly ChangedConversation[],
) => [
  ...messages.map(({ accountId, id, chatId }) => ({ accountId, kind: 'message' as const, chatId, messageId: id })),
  ...changed.map(({ accountId, chatId }) => ({ accountId, kind: 'conversation' as const, chatId, messageId: null })),
];
