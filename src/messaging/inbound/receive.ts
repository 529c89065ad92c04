import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Inbound, InboundMedia, InboundType, RichInbound } from '../../carriers/events.ts';
import { groupCommit } from '../../platform/db/group-commit.ts';
import { type InboundText, applyConsentWords } from '../consent/record.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { newId } from '../../platform/lib/ids.ts';
import { assemble } from './assemble.ts';
import { plainNumber } from './number.ts';
import { publishEvents } from '../webhooks/publish.ts';
import * as db from './sql.ts';

/** The account of messages to a number that nobody owns. */
export const NO_ACCOUNT_ID = 0;
/** Octets that a carrier may put into an address (data_sm; 20 in deliver_sm). A longer one would fit no index. */
const LONGEST_ADDRESS = 64;
const SETS = 500;
/** A carrier repeats a deliver_sm within minutes; Meta and Google repeat a callback for seven days. */
const KEEP_SECONDS = 15 * 60;
const KEEP_RICH_SECONDS = 8 * 24 * 3600;

/** A whole message from a person to a number of this account. */
export type Arrival = {
  readonly accountId: number;
  readonly id: string;
  readonly connectionId: number;
  readonly channel: Channel;
  /** Both as the carrier writes them, without a plus. */
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  readonly messageType: InboundType;
  /** When it was written, as far as the network tells; otherwise when it came. */
  readonly at: Date;
  readonly profileName: string | null;
  readonly media: InboundMedia | null;
};

/**
 * Called inside the transaction that stores inbound messages, with those of known accounts in their order, each once. The
 * composition passes in who has to follow: the inbox.
 */
export type OnInbound = (tx: Db, arrivals: readonly Arrival[]) => Promise<void>;

export type InboundDeps = { readonly pool: Pool; readonly onInbound: OnInbound };

type Arrived = { readonly connectionId: number; readonly inbound: Inbound };

/**
 * Takes inbound messages and their parts: the promise resolves when they are committed, and only then may the carrier
 * be answered. Whatever the carrier sends can be stored: one message never keeps the others of its batch out.
 *
 * The same octets of the same sender to the same number within 15 minutes are one message: a carrier sends again what
 * it believes to be unanswered, and nothing in SMPP tells such a repeat from a person who writes the same twice.
 * Networks beyond SMS name their messages: the same name within eight days is one message.
 */
export function createInboundInbox({ pool, onInbound }: InboundDeps): (arrived: Arrived) => Promise<void> {
  return groupCommit<Arrived, void>({
    maxItems: 1000,
    inFlight: 1,
    async flush(items) {
      await transaction(pool, (tx) => receiveInbound(tx, onInbound, items.map(tidy)));
      return items.map(() => undefined);
    },
  });
}

/**
 * Makes messages of what is there of long messages whose first part came more than ten minutes ago.
 *
 * @returns how many long messages were looked at
 */
export function endOverdueParts({ pool, onInbound }: InboundDeps): Promise<number> {
  return transaction(pool, async (tx) => {
    const keys = await db.listOverdueSets(tx, { limit: SETS });
    if (keys.length === 0) return 0;
    await claimConnectionsOf(tx, keys);
    await insertMessages(tx, onInbound, await joinParts(tx, keys));
    return keys.length;
  });
}

/** A NUL is no character of PostgreSQL's text. */
function tidy({ connectionId, inbound }: Arrived): Arrived {
  const address = (written: string): string => plainNumber(written.replaceAll('\0', '').slice(0, LONGEST_ADDRESS));
  const { source, destination, text, rich } = inbound;
  const clean = { source: address(source), destination: address(destination), text: text.replaceAll('\0', '') };
  return { connectionId, inbound: { ...inbound, ...clean, ...(rich && { rich: tidyRich(rich) }) } };
}

/** Callbacks are JSON, which may hold a NUL or half of a surrogate pair anywhere; jsonb takes neither. */
const tidyRich = (rich: RichInbound): RichInbound => {
  const clean = (text: string | null): string | null => text && text.replaceAll('\0', '').toWellFormed();
  const { id, profileName, media } = rich;
  return {
    ...rich,
    id: clean(id) ?? '',
    profileName: clean(profileName),
    media: media && {
      id: clean(media.id),
      url: clean(media.url),
      mimeType: clean(media.mimeType),
      fileName: clean(media.fileName),
    },
  };
};

async function receiveInbound(tx: Db, onInbound: OnInbound, arrived: readonly Arrived[]): Promise<void> {
  await claimConnectionsOf(tx, arrived);
  const fresh = await withoutRepeats(tx, arrived.filter(isNews));
  const parts = fresh.flatMap(toPart);
  if (parts.length > 0) await db.insertParts(tx, parts);
  const joined = parts.length > 0 ? await joinParts(tx, parts) : [];
  await insertMessages(tx, onInbound, [...fresh.flatMap(toWhole), ...joined]);
}

async function claimConnectionsOf(tx: Db, rows: readonly { readonly connectionId: number }[]): Promise<void> {
  const ids = new Set(rows.map((row) => row.connectionId));
  await db.claimConnections(tx, { connectionIds: [...ids].sort((a, b) => a - b) });
}

/** What a network tells later than it repeats anything has been told before, and is no longer remembered. */
const isNews = ({ inbound: { rich } }: Arrived): boolean =>
  !rich?.at || rich.at.getTime() > Date.now() - KEEP_RICH_SECONDS * 1000;

async function withoutRepeats(tx: Db, arrived: readonly Arrived[]): Promise<Arrived[]> {
  const byKey = new Map<string, Arrived & db.Seen & { keepSeconds: number }>();
  for (const one of arrived) {
    const seen = { connectionId: one.connectionId, hash: hashOf(one.inbound) };
    const key = keyOfSeen(seen);
    const keepSeconds = one.inbound.rich ? KEEP_RICH_SECONDS : KEEP_SECONDS;
    if (!byKey.has(key)) byKey.set(key, { ...one, ...seen, keepSeconds });
  }
  const news = new Set((await db.insertSeen(tx, [...byKey.values()])).map(keyOfSeen));
  return [...byKey].flatMap(([key, one]) => (news.has(key) ? [one] : []));
}

const keyOfSeen = ({ connectionId, hash }: db.Seen): string => `${connectionId}/${hash.toString('hex')}`;

/** The place among the parts counts: with SAR it is not in the octets, and two parts may have the same text. */
const hashOf = ({ source, destination, concat, raw, rich }: Inbound): Buffer =>
  rich
    ? createHash('sha256')
        .update(JSON.stringify([rich.channel, rich.id]))
        .digest()
    : createHash('sha256')
        .update(JSON.stringify([source, destination, concat]))
        .update(raw)
        .digest();

type Whole = Omit<db.NewInboundMessage, 'accountId' | 'id'>;

const toWhole = ({ connectionId, inbound }: Arrived): Whole[] => {
  const { source, destination, text, raw, concat, rich } = inbound;
  if (concat !== null) return [];
  const body = text.toWellFormed();
  const whole = { connectionId, source, destination, body, octets: raw, parts: 1, partsReceived: 1, receivedAt: null };
  return [{ ...whole, ...(rich ? toRich(rich) : PLAIN) }];
};

const PLAIN = { channel: 'SMS', messageType: 'TEXT', details: null } as const;

const toRich = ({ channel, messageType, id, at, profileName, media }: RichInbound) => ({
  channel,
  messageType,
  details: { id, profileName, media, at: at && at.toISOString() },
});

const toPart = ({ connectionId, inbound }: Arrived): db.NewPart[] => {
  const { source, destination, text, raw, concat } = inbound;
  return concat === null ? [] : [{ connectionId, source, destination, ...concat, text, octets: raw }];
};

/** Takes those of these long messages out of the waiting parts that are at their end. */
async function joinParts(tx: Db, keys: readonly db.SetKey[]): Promise<Whole[]> {
  const distinct = new Map(keys.map((key) => [JSON.stringify(pickKey(key)), key]));
  const { messages, spentIds } = assemble(await db.listParts(tx, { keys: [...distinct.values()] }));
  if (spentIds.length > 0) await db.deleteParts(tx, { ids: spentIds });
  return messages.flatMap(toJoined);
}

const pickKey = ({ connectionId, source, destination, ref, total }: db.SetKey) =>
  [connectionId, source, destination, ref, total] as const;

function toJoined(parts: readonly db.Part[]): Whole[] {
  const [first] = parts;
  if (!first) return [];
  const { connectionId, source, destination, total } = first;
  return [
    {
      connectionId,
      source,
      destination,
      body: parts
        .map((part) => part.text)
        .join('')
        .toWellFormed(),
      octets: Buffer.concat(parts.map((part) => part.octets)),
      parts: total,
      ...PLAIN,
      partsReceived: parts.length,
      receivedAt: new Date(Math.min(...parts.map((part) => part.receivedAt.getTime()))),
    },
  ];
}

async function insertMessages(tx: Db, onInbound: OnInbound, messages: readonly Whole[]): Promise<void> {
  if (messages.length === 0) return;
  const numbers = messages.map(({ connectionId, destination }) => ({ connectionId, number: destination }));
  const owners = await db.listOwners(tx, { numbers });
  const accounts = new Map(owners.map((owner) => [`${owner.connectionId}/${owner.number}`, owner.accountId]));
  // Ids of one millisecond are in no order of their own, and a conversation has one.
  const ids = messages.map(newId).sort();
  const owned = messages.map((message, index) => ({
    ...message,
    id: ids[index] ?? newId(),
    accountId: accounts.get(`${message.connectionId}/${message.destination}`) ?? NO_ACCOUNT_ID,
  }));
  await db.insertInboundMessages(tx, owned);
  await onInbound(tx, owned.flatMap(toArrival));
  await publishEvents(tx, owned.map(toEvent));
  await applyConsentWords(tx, owned.flatMap(toHeard));
}

function toArrival({ body, details, receivedAt, ...message }: db.NewInboundMessage): Arrival[] {
  if (message.accountId === NO_ACCOUNT_ID) return [];
  const at = details?.at ? new Date(details.at) : (receivedAt ?? new Date());
  return [{ ...message, text: body, at, profileName: details?.profileName ?? null, media: details?.media ?? null }];
}

const toHeard = ({ accountId, channel, source, body }: db.NewInboundMessage): InboundText[] =>
  accountId === NO_ACCOUNT_ID ? [] : [{ accountId, channel, source, body }];

const toEvent = ({ accountId, id, receivedAt }: db.NewInboundMessage) => ({
  accountId,
  kind: 'INBOUND' as const,
  messageId: id,
  status: null,
  at: receivedAt,
  error: null,
});
