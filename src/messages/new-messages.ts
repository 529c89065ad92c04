import type { Channel, Purpose } from '../core/channels.ts';
import {
  bigint,
  boolean,
  bytea,
  insertRows,
  json,
  once,
  type RowColumns,
  smallint,
  text,
  timestamptz,
  uuid,
} from '../core/db/columns.ts';
import { as, columns, type Db, exec, onePlan, type RowOf } from '../core/db/query.ts';
import { timeOfId } from '../core/ids.ts';
import type { Tracing } from '../core/tracing.ts';
import { isUrgent } from '../dispatch/held.ts';
import type { Waker } from '../dispatch/pump.ts';
import type { NewChunk } from '../dispatch/store.ts';
import type { StoredContent } from '../templates/content.ts';
import type { ClientData } from '../webhooks/urls.ts';

/** A chunk of the queue and its messages, in the order of its ids. */
export type Queued = { readonly chunk: NewChunk; readonly messages: readonly NewMessage[] };

export type AnnounceDeps = {
  readonly waker: Waker;
  /** The messages for the pumps of this process; null if it has none. */
  readonly recentMessages: RecentMessages | null;
  /** Null, or omitted, where nothing is traced. */
  readonly tracing?: Tracing | null;
};

/**
 * Announces chunks to the pumps, once the transaction that queued them is committed: the pumps of this process get the
 * messages that are to be sent immediately, and all pumps of these connections are woken.
 */
export function announce({ waker, recentMessages, tracing }: AnnounceDeps, queued: readonly Queued[]): void {
  for (const { chunk, messages } of queued) if (chunk.availableAt === null) recentMessages?.put(messages);
  const singles = new Set(queued.flatMap(({ chunk }) => (isUrgent(chunk) ? [chunk.connectionId] : [])));
  for (const connectionId of new Set(queued.map(({ chunk }) => chunk.connectionId)))
    waker.wake(connectionId, !singles.has(connectionId));
  if (tracing) for (const { messages } of queued) traceAccepted(tracing, messages);
}

/** Traces the acceptance of messages, which are committed. A message has its id from the beginning of its acceptance on. */
export function traceAccepted(tracing: Tracing, messages: readonly NewMessage[]): void {
  const endMs = Date.now();
  for (const { id, accountId, channel } of messages) {
    if (!tracing.follows(id)) continue;
    tracing.record({
      name: 'accept',
      accountId,
      messageId: id,
      startMs: timeOfId(id).getTime(),
      endMs,
      channel,
      status: 'ACCEPTED',
    });
  }
}

/** Messages that this process has committed to the queue and that its own pumps will claim soon, by chunk. */
export type RecentMessages = {
  /**
   * Keeps the messages of one chunk, in the order of its ids. The transaction that stores them must be committed. Does
   * nothing when there is no room, or when a message needs more than it holds: its template or file.
   */
  put(messages: readonly NewMessage[]): void;
  /**
   * Removes and returns the messages with these ids; null if they are not all here. The ids are those of a claimed
   * chunk: of a chunk that was put, or its first ones, which leaves the others here.
   */
  take(ids: readonly string[]): readonly NewMessage[] | null;
};

/** Maximum messages held; above it the oldest stay, which are claimed next, and others are read from the database. */
const MAX_MESSAGES = 50_000;
/** Messages not claimed by then are likely with another process, or wait for a carrier. */
const MAX_AGE_MS = 30_000;

/**
 * Creates a cache of committed messages, so that this process need not read back what it has just written: that costs a
 * tenth of the CPU time per message. Nothing depends on it: whatever is missing is read from the database.
 */
export function createRecentMessages(maxMessages = MAX_MESSAGES, now = () => performance.now()): RecentMessages {
  const chunks = new Map<string, { readonly messages: readonly NewMessage[]; readonly at: number }>();
  let kept = 0;

  function keep(messages: readonly NewMessage[], at: number): void {
    const [first] = messages;
    if (!first) return;
    chunks.set(first.id, { messages, at });
    kept += messages.length;
  }

  function forget(firstId: string): { readonly messages: readonly NewMessage[]; readonly at: number } | undefined {
    const chunk = chunks.get(firstId);
    chunks.delete(firstId);
    kept -= chunk?.messages.length ?? 0;
    return chunk;
  }

  return {
    put(messages) {
      for (const [firstId, { at }] of chunks) {
        if (at > now() - MAX_AGE_MS) break;
        forget(firstId);
      }
      if (kept + messages.length <= maxMessages && messages.every(isWhole)) keep(messages, now());
    },
    take(ids) {
      const chunk = forget(ids[0] ?? '');
      if (!chunk || ids.some((id, i) => chunk.messages[i]?.id !== id)) return null;
      keep(chunk.messages.slice(ids.length), chunk.at);
      return chunk.messages.slice(0, ids.length);
    },
  };
}

/** Returns true if a carrier gets a message from memory as it would get it from the database. */
export const isWhole = ({ content, body, sender }: NewMessage): boolean =>
  content === null && isStoredAsIs(body) && isStoredAsIs(sender);

/** True if the database stores a text unchanged: it replaces a NUL and a lone surrogate by another character. */
const isStoredAsIs = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/**
 * A row of the table `message`, which is written once and never changed. `newMessage` fills in the values that most
 * rows share.
 */
export type NewMessage = {
  readonly accountId: number;
  readonly id: string;
  readonly clientId: string | null;
  readonly channel: Channel;
  readonly source: 'API' | 'CAMPAIGN' | 'INBOX';
  readonly simulation: boolean;
  readonly connectionId: number | null;
  /** Reason for the connection; null where it follows from the prefix or the sender alone. */
  readonly routeReason: string | null;
  readonly sender: string;
  /** The requested sender, if a rule or a pool replaced it by `sender`. */
  readonly askedSender: string | null;
  readonly destination: string;
  /** The text that people read; it may be empty if there is `content`. */
  readonly body: string;
  /** Content that RCS and WhatsApp send instead of the text; null for SMS. */
  readonly content: StoredContent | null;
  readonly udh: Uint8Array | null;
  readonly binaryBody: Uint8Array | null;
  /**
   * The data_coding of a text over SMPP: that of `binaryBody` where this is a part, or else as it came; null otherwise.
   */
  readonly dataCoding: number | null;
  /** SMPP parameters passed on to the carrier, as on the wire; null if none. */
  readonly tlvs: Uint8Array | null;
  readonly parts: number;
  readonly wantReceipt: boolean;
  readonly validUntil: Date | null;
  /** The message is not sent before this instant; null: it was queued immediately. */
  readonly scheduledAt: Date | null;
  readonly priceMicros: number;
  readonly refundUndelivered: boolean;
  /** The category of its price; null if none. */
  readonly priceCategory: string | null;
  /** Null if it has none. */
  readonly purpose: Purpose | null;
  /** Data that the client gets back with its events and records; null if none. */
  readonly clientData: ClientData | null;
  /** The API key that requested the message; null when a person with a password did. */
  readonly apiKeyId: number | null;
  /** The person who requested the message; null when an API key did. */
  readonly userId: number | null;
  /** The credential that submitted the message over SMPP, or null. */
  readonly smppCredentialId: number | null;
  readonly campaignId: number | null;
  /** The code that the carrier gets in place of the bullets. In memory only: no column has it. */
  readonly code?: string;
  /** A refund of the price goes to the reserve of the message's campaign, which returns it in the end. */
  readonly keepsReserve: boolean;
};

/** Fields with a default that suits most messages, so that they need not be given. */
type WithDefault =
  | 'clientId'
  | 'simulation'
  | 'content'
  | 'udh'
  | 'binaryBody'
  | 'dataCoding'
  | 'tlvs'
  | 'smppCredentialId'
  | 'parts'
  | 'wantReceipt'
  | 'validUntil'
  | 'scheduledAt'
  | 'campaignId'
  | 'keepsReserve';

type Given = Omit<NewMessage, WithDefault> & Partial<Pick<NewMessage, WithDefault>>;

/**
 * Makes the row of a message. Omitted fields get the value that most messages have: one part of text that is sent
 * immediately, with a receipt, in no campaign. Every field is written out, because a spread measurably increases the
 * CPU time per message.
 */
export const newMessage = ({
  clientId = null,
  simulation = false,
  content = null,
  udh = null,
  binaryBody = null,
  dataCoding = null,
  tlvs = null,
  smppCredentialId = null,
  parts = 1,
  wantReceipt = true,
  validUntil = null,
  scheduledAt = null,
  priceCategory,
  purpose,
  clientData,
  campaignId = null,
  keepsReserve = false,
  accountId,
  id,
  channel,
  source,
  connectionId,
  routeReason,
  sender,
  askedSender,
  destination,
  body,
  priceMicros,
  refundUndelivered,
  apiKeyId,
  userId,
}: Given): NewMessage => ({
  accountId,
  id,
  clientId,
  channel,
  source,
  simulation,
  connectionId,
  routeReason,
  sender,
  askedSender,
  destination,
  body,
  content,
  udh,
  binaryBody,
  dataCoding,
  tlvs,
  parts,
  wantReceipt,
  validUntil,
  scheduledAt,
  priceMicros,
  refundUndelivered,
  priceCategory,
  purpose,
  clientData,
  apiKeyId,
  userId,
  smppCredentialId,
  campaignId,
  keepsReserve,
});

/** Fields that a message inherits from the message it follows on the next channel. */
export const INHERITED = columns({
  clientId: as<string | null>('m.client_id'),
  source: as<NewMessage['source']>('m.source'),
  destination: as<string>('m.destination'),
  simulation: as<boolean>('m.simulation'),
  validUntil: as<Date | null>('m.valid_until'),
  purpose: as<Purpose | null>('m.purpose'),
  clientData: as<ClientData | null>('m.client_data'),
});
export type Inherited = RowOf<typeof INHERITED>;

/** Picks the inherited fields of a message. */
export const inheritedOf = ({
  clientId,
  source,
  destination,
  simulation,
  validUntil,
  purpose,
  clientData,
}: Inherited): Inherited => ({
  clientId,
  source,
  destination,
  simulation,
  validUntil,
  purpose,
  clientData,
});

// Accessors, because this is the hottest insert: reading fields by key takes 0.1 µs more per message.
const MESSAGE_FIELDS: RowColumns<NewMessage> = once({
  accountId: bigint((r) => r.accountId),
  id: uuid((r) => r.id),
  clientId: text((r) => r.clientId),
  channel: text((r) => r.channel),
  source: text((r) => r.source),
  simulation: boolean((r) => r.simulation),
  connectionId: bigint((r) => r.connectionId),
  routeReason: text((r) => r.routeReason),
  sender: text((r) => r.sender),
  askedSender: text((r) => r.askedSender),
  destination: text((r) => r.destination),
  body: text((r) => r.body),
  content: json((r) => r.content && JSON.stringify(r.content)),
  udh: bytea((r) => r.udh),
  binaryBody: bytea((r) => r.binaryBody),
  dataCoding: smallint((r) => r.dataCoding),
  tlvs: bytea((r) => r.tlvs),
  parts: smallint((r) => r.parts),
  wantReceipt: boolean((r) => r.wantReceipt),
  validUntil: timestamptz((r) => r.validUntil),
  scheduledAt: timestamptz((r) => r.scheduledAt),
  priceMicros: bigint((r) => r.priceMicros),
  refundUndelivered: boolean((r) => r.refundUndelivered),
  priceCategory: text((r) => r.priceCategory),
  purpose: text((r) => r.purpose),
  clientData: json((r) => r.clientData && JSON.stringify(r.clientData)),
  apiKeyId: bigint((r) => r.apiKeyId),
  userId: bigint((r) => r.userId),
  smppCredentialId: bigint((r) => r.smppCredentialId),
  campaignId: bigint((r) => r.campaignId),
  keepsReserve: boolean((r) => r.keepsReserve),
  code: null,
});

/** Stores messages of any accounts in one statement; 1,000 rows per statement ran at 91,000 rows/s. */
export async function insertMessages(db: Db, rows: readonly NewMessage[]): Promise<void> {
  await exec(db, onePlan(insertRows('message', rows, MESSAGE_FIELDS)));
}
