import type { Pool } from 'pg';
import { operatorAuthor } from '../accounts/audit.ts';
import type { InboundMedia } from '../channels/carrier.ts';
import { type UpsertRow, upsertContacts } from '../contacts/contacts.ts';
import { newContact } from '../contacts/read.ts';
import { listIdsByNumber } from '../contacts/store.ts';
import { CHANNEL, type Channel, isRoutedBySender } from '../core/channels.ts';
import { bigint, input, insertRows, json, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, one, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { parsePhone, toE164 } from '../core/phone.ts';
import type { SecretKey } from '../core/secrets.ts';
import type { Storage } from '../core/storage.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { storeInbound } from '../media/media.ts';
import { consentWordOf } from '../messages/consent.ts';
import type { Arrival } from '../messages/inbound.ts';
import { listConnections } from '../routing/connection-store.ts';
import { secretOf } from '../routing/connections.ts';
import type { FetchedFile, FileSource } from '../routing/kind.ts';
import { kindOf } from '../routing/kinds.ts';
import { publishInboxChanges } from './conversations.ts';
import { applyRules } from './rules.ts';
import {
  type ChangedConversation,
  type ConversationUpdate,
  claimInboxes,
  insertConversations,
  insertThreadMessages,
  type ThreadMedia,
  updateThreadMedia,
} from './store.ts';

type WithPeer = Arrival & { readonly peer: string };

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
    direction: 'INBOUND',
    at: new Date(),
  };
}

/** Returns the sender of ours that received a message: a number with its plus, a short code as it is. */
const identityOf = ({ channel, destination }: Arrival): string =>
  !isRoutedBySender(channel) && LONG_NUMBER.test(destination) ? (toE164(destination) ?? destination) : destination;
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
  return phone ? [{ ...newContact(phone), phoneNumber: phone.e164, givenFullName: name?.trim() || null }] : [];
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

export type FetchDeps = {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly storage: Storage;
  readonly log: Log;
};

/** Number of files fetched in parallel; each may be in memory as a whole. */
const FILES_PER_RUN = 3;
/** People can send up to 100 MB on these networks; a larger file than this is not stored. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Lease, longer than any fetch and its storing take. */
const LEASE_SECONDS = 300;
/** The waits between tries. WhatsApp stores files for days: after about two days, a file is abandoned. */
const DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];

/**
 * Fetches files of inbound messages from their networks and stores them. Threads show a file once it is stored, or that
 * it is not available.
 *
 * @returns the number of files that were due
 */
export async function fetchMedia(deps: FetchDeps): Promise<number> {
  const due = await claimInboxMedia(deps.pool, { limit: FILES_PER_RUN, leaseSeconds: LEASE_SECONDS });
  if (due.length === 0) return 0;
  const sources = await openSources(deps, due);
  try {
    await Promise.all(due.map((one) => fetchOne(deps, one, sources.get(one.connectionId))));
  } finally {
    await Promise.all([...sources.values()].map((source) => source.close()));
  }
  return due.length;
}

/** Opens the file sources of the connections from which these files came, with their current settings. */
async function openSources({ pool, secretKey }: FetchDeps, due: readonly DueMedia[]): Promise<Map<number, FileSource>> {
  const wanted = new Set(due.map((one) => one.connectionId));
  const connections = (await listConnections(pool)).filter(({ id }) => wanted.has(id));
  return new Map(
    connections.flatMap((connection) => {
      const source = kindOf(connection).createFileSource?.(connection.settings, secretOf(connection, secretKey));
      return source ? [[connection.id, source] as const] : [];
    }),
  );
}

const CONNECTION_GONE: FetchedFile = { ok: false, retry: false, reason: 'the connection was deleted' };

async function fetchOne(deps: FetchDeps, one: DueMedia, source: FileSource | undefined): Promise<void> {
  const fetched = source ? await source.fetch(one.media, MAX_BYTES) : CONNECTION_GONE;
  const stored = fetched.ok ? await store(deps, one, fetched.bytes) : null;
  if (stored) return endFetch(deps.pool, one, { ...describe(one), ...stored, state: 'STORED' });
  const delayMs = DELAYS_MS[one.tries - 1];
  const reason = fetched.ok ? 'the file is empty' : fetched.reason;
  deps.log.warn({ messageId: one.id, reason }, 'the file of an inbound message cannot be fetched');
  if (!fetched.ok && fetched.retry && delayMs !== undefined) await updateInboxMediaDue(deps.pool, { ...one, delayMs });
  else await endFetch(deps.pool, one, describe(one));
}

const describe = ({ media: { mimeType, fileName } }: DueMedia): ThreadMedia => ({
  state: 'FAILED',
  mediaId: null,
  mimeType,
  fileName,
});

async function store(deps: FetchDeps, { accountId, media }: DueMedia, bytes: Buffer) {
  const content = [bytes];
  const file = { accountId, maxBytes: MAX_BYTES, name: media.fileName ?? '' };
  const stored = await storeInbound(deps, { ...file, content: iterate(content) });
  return stored.ok ? { mediaId: stored.id, mimeType: stored.mimeType } : null;
}

async function* iterate(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

/** Ends a job, if it still exists: a file that was fetched twice is shown once. */
const endFetch = (pool: Pool, { accountId, id, chatId }: DueMedia, media: ThreadMedia): Promise<void> =>
  transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [accountId] });
    if ((await deleteInboxMedia(tx, { accountId, id })) === 0) return;
    await updateThreadMedia(tx, { accountId, chatId, id, media });
    await publishInboxChanges(tx, { changed: [], events: [{ accountId, kind: 'message', chatId, messageId: id }] });
  });

/** A file of an inbound message that is still to be fetched from the network. */
type NewInboxMedia = {
  readonly accountId: number;
  readonly id: string;
  readonly chatId: string;
  readonly connectionId: number;
  readonly media: InboundMedia;
};

const insertInboxMedia = (db: Db, rows: readonly NewInboxMedia[]): Promise<number> =>
  exec(
    db,
    insertRows(
      'inbox_media',
      rows.map(({ accountId, id, chatId, connectionId, media }) => ({
        accountId,
        messageId: id,
        chatId,
        connectionId,
        source: JSON.stringify(media),
      })),
      { accountId: bigint, messageId: uuid, chatId: uuid, connectionId: bigint, source: input(json) },
      { source: sql`u.source::jsonb` },
    ),
  );

const DUE_MEDIA = columns({
  accountId: as<number>('m.account_id'),
  /** The id of the message. */
  id: as<string>('m.message_id'),
  chatId: as<string>('m.chat_id'),
  connectionId: as<number>('m.connection_id'),
  media: as<InboundMedia>('m.source'),
  /** Number of tries, including this one. */
  tries: as<number>('m.tries'),
});

/** A file that is due to be fetched. */
type DueMedia = Readonly<RowOf<typeof DUE_MEDIA>>;

/**
 * Claims files that are due by postponing them by `leaseSeconds`: if a worker dies while it fetches a file, the file is
 * fetched again after that time.
 */
const claimInboxMedia = (
  db: Db,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<DueMedia[]> =>
  many(
    db,
    sql`UPDATE inbox_media m SET tries = m.tries + 1, due_at = now() + ${leaseSeconds} * interval '1 second'
        FROM (SELECT account_id, message_id FROM inbox_media WHERE due_at <= now()
              ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) AS d
        WHERE m.account_id = d.account_id AND m.message_id = d.message_id
        RETURNING ${DUE_MEDIA}`,
  );

type Key = { readonly accountId: number; readonly id: string };

/** Deletes the job of a file. Returns 0 when another worker was faster. */
const deleteInboxMedia = (db: Db, { accountId, id }: Key): Promise<number> =>
  exec(db, sql`DELETE FROM inbox_media WHERE account_id = ${accountId} AND message_id = ${id}`);

const updateInboxMediaDue = (db: Db, { accountId, id, delayMs }: Key & { delayMs: number }): Promise<number> =>
  exec(
    db,
    sql`UPDATE inbox_media SET due_at = now() + ${delayMs} * interval '1 millisecond'
        WHERE account_id = ${accountId} AND message_id = ${id}`,
  );

/** Returns the ms until the next file is due; null when none is waiting. */
export async function findNextMediaMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM inbox_media`,
  );
  return ms;
}
