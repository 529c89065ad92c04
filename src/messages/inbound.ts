import { createHash } from 'node:crypto';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import { Counter } from 'prom-client';
import { findAccount, keepForOthers } from '../accounts/accounts.ts';
import type { Inbound, InboundMedia, InboundNotice, InboundType, RichInbound } from '../channels/carrier.ts';
import { every, type Task, untilIdle } from '../core/background.ts';
import type { InboundContent } from '../channels/inbound-content.ts';
import type { Channel } from '../core/channels.ts';
import { type CommandContext, table } from '../core/cli.ts';
import { printable } from '../core/cli-operations.ts';
import type { Db } from '../core/db/query.ts';
import { groupCommit, transaction } from '../core/db/transaction.ts';
import { invalidFields } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import { MAX_USER_ID_LENGTH, maskNumber } from '../core/phone.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { publishEvents } from '../webhooks/outbox.ts';
import * as db from './inbound-store.ts';
import { deleteOldSeen, type Part, plainNumber } from './inbound-store.ts';
import { reactToKeywords } from './keywords.ts';
import { applyOptInReplies } from './opt-ins.ts';
import { applyConsentWords, type Heard, hear } from './stops.ts';
import { noteWishes } from './suspected.ts';

/** The account id of messages to a number that no account has. */
export const NO_ACCOUNT_ID = 0;
/** Maximum bytes of an address from a carrier (data_sm; 20 in deliver_sm). No index takes a longer one. */
const MAX_ADDRESS_LENGTH = 64;
/** The same on WhatsApp and RCS, where an address may be a user id. */
const MAX_RICH_ADDRESS_LENGTH = MAX_USER_ID_LENGTH;
const MAX_OVERDUE_SETS = 500;
/** A carrier repeats an unanswered deliver_sm within minutes; Meta and Google repeat a callback for seven days. */
const KEEP_SECONDS = (15 * MINUTE_MS) / SECOND_MS;
const KEEP_RICH_SECONDS = (8 * DAY_MS) / SECOND_MS;

/** A whole message from a person to a number of an account. */
export type ReceivedMessage = {
  readonly accountId: number;
  readonly id: string;
  readonly connectionId: number;
  readonly channel: Channel;
  /** The sender as the carrier writes it, without a plus. */
  readonly source: string;
  /** The account's number as the carrier writes it, without a plus. */
  readonly destination: string;
  readonly text: string;
  readonly messageType: InboundType;
  /** Time of writing, or of receipt if the network does not provide it. */
  readonly at: Date;
  readonly profileName: string | null;
  readonly media: InboundMedia | null;
  readonly content: InboundContent | null;
  /** Another address of the sender: a user id, or a number in E.164. */
  readonly alias: string | null;
  /** A notice instead of a message, which is not stored. */
  readonly notice: InboundNotice | null;
} & Heard;

/**
 * Called in the transaction that stores inbound messages, with those of known accounts in their order, each once. The
 * composition root passes in the function of the inbox.
 */
export type OnInbound = (tx: Db, arrivals: readonly ReceivedMessage[]) => Promise<void>;

type InboundDeps = { readonly pool: Pool; readonly onInbound: OnInbound };
type InboxDeps = InboundDeps & { readonly log: Log; readonly metrics: Pick<Metrics, 'registry'> };

type CarrierInbound = { readonly connectionId: number; readonly inbound: Inbound };

/**
 * A message that arrived, or the hash of a stored one whose response was written: the carrier has no reason to repeat
 * it.
 */
type Item = { readonly arrived: CarrierInbound } | { readonly answered: db.Seen };

/** Stores an inbound message; resolves when it is committed. `answered`: see `CarrierHost.inbound`. */
type TakeInbound = (arrived: CarrierInbound, answered?: Promise<void>) => Promise<void>;

/**
 * Creates the inbox of inbound messages and their parts: the promise resolves when they are committed, and only then
 * may the carrier get its response. Everything that a carrier sends can be stored, so no message keeps the others of
 * its batch out.
 *
 * A carrier repeats what it believes to be unanswered, and a person may write the same twice. Messages with an id of
 * the carrier are repeats if id and bytes are the same, within eight days on WhatsApp, RCS and HTTP and 15 minutes over
 * SMPP. Without an id, the same bytes from the same sender to the same number are a repeat until the response to the
 * first ones was written: for 15 minutes if the link or the process ended before. Repeats are counted and logged.
 * STOP, START and their like over SMPP are always new: missing one that a person wrote is worse than showing one twice.
 */
export function createInboundInbox({ pool, onInbound, log, metrics }: InboxDeps): TakeInbound {
  const note = createRepeatNotes({ log, metrics });
  const take = groupCommit<Item, void>({
    maxItems: 1000,
    inFlight: 1,
    async flush(items) {
      const repeats = await transaction(pool, async (tx) => {
        const found: CarrierInbound[] = [];
        for (const { arrived, answered } of inTurns(items)) {
          found.push(...(await receiveInbound(tx, onInbound, arrived)));
          if (answered.length > 0) await db.deleteSeen(tx, answered);
        }
        return found;
      });
      note(repeats);
      return items.map(() => undefined);
    },
  });
  return (one, answered) => {
    const arrived = sanitize(one);
    // A failure leaves the hash to its time limit.
    if (answered && !idOf(arrived.inbound))
      void answered.then(() => take({ answered: seenOf(arrived) })).catch(() => undefined);
    return take({ arrived });
  };
}

type Turn = { readonly arrived: CarrierInbound[]; readonly answered: db.Seen[] };

/** Splits a batch so that a message which arrived after an equal one got a response is in a later turn. */
function inTurns(items: readonly Item[]): readonly Turn[] {
  const turns: Turn[] = [{ arrived: [], answered: [] }];
  let answered = new Set<string>();
  for (const item of items) {
    if ('arrived' in item && answered.has(keyOfSeen(seenOf(item.arrived)))) {
      turns.push({ arrived: [], answered: [] });
      answered = new Set();
    }
    const turn = turns.at(-1);
    if ('arrived' in item) turn?.arrived.push(item.arrived);
    else {
      turn?.answered.push(item.answered);
      answered.add(keyOfSeen(item.answered));
    }
  }
  return turns;
}

const REPEATS = 'heliograph_inbound_repeats_total';

/** Returns the function that counts and logs repeats. Inboxes with one registry share the counter. */
function createRepeatNotes({ log, metrics: { registry } }: Pick<InboxDeps, 'log' | 'metrics'>) {
  const known = registry.getSingleMetric(REPEATS);
  const counter =
    known instanceof Counter
      ? known
      : new Counter({
          name: REPEATS,
          help: 'Inbound messages and parts that were not stored, because the carrier had sent them before',
          labelNames: ['channel'] as const,
          registers: [registry],
        });
  return (repeats: readonly CarrierInbound[]): void => {
    for (const { connectionId, inbound } of repeats) {
      const { rich, source } = inbound;
      const channel = rich?.channel ?? 'SMS';
      counter.inc({ channel });
      log.info(
        { connectionId, channel, source: maskNumber(source), carrierId: idOf(inbound) },
        'repeated inbound message',
      );
    }
  };
}

/**
 * Stores long messages whose first part was received more than ten minutes ago with the parts that have arrived.
 *
 * @returns the number of long messages
 */
export function endOverdueParts({ pool, onInbound }: InboundDeps): Promise<number> {
  return transaction(pool, async (tx) => {
    const keys = await db.listOverdueSets(tx, { limit: MAX_OVERDUE_SETS });
    if (keys.length === 0) return 0;
    await claimConnectionsOf(tx, keys);
    await insertMessages(tx, onInbound, await joinParts(tx, keys));
    return keys.length;
  });
}

/** Removes characters that cannot be stored: PostgreSQL's text has no NUL character. */
function sanitize({ connectionId, inbound }: CarrierInbound): CarrierInbound {
  const { source, destination, text, rich } = inbound;
  const maxLength = rich ? MAX_RICH_ADDRESS_LENGTH : MAX_ADDRESS_LENGTH;
  const address = (written: string): string => plainNumber(written.replaceAll('\0', '').slice(0, maxLength));
  const clean = { source: address(source), destination: address(destination), text: text.replaceAll('\0', '') };
  return { connectionId, inbound: { ...inbound, ...clean, ...(rich && { rich: sanitizeRich(rich) }) } };
}

/** Removes NULs and lone surrogates, which the JSON of a callback may contain anywhere; jsonb accepts neither. */
const sanitizeRich = (rich: RichInbound): RichInbound => {
  const clean = (text: string | null): string | null => text && text.replaceAll('\0', '').toWellFormed();
  const { id, profileName, ownNumber, media, notice } = rich;
  return {
    ...rich,
    ...(notice?.kind === 'deleted' && { notice: { ...notice, messageId: clean(notice.messageId) ?? '' } }),
    id: clean(id) ?? '',
    profileName: clean(profileName),
    ownNumber: clean(ownNumber),
    media: media && {
      id: clean(media.id),
      url: clean(media.url),
      mimeType: clean(media.mimeType),
      fileName: clean(media.fileName),
    },
  };
};

/** Stores messages and parts, and returns those that are repeats instead. */
async function receiveInbound(
  tx: Db,
  onInbound: OnInbound,
  arrived: readonly CarrierInbound[],
): Promise<CarrierInbound[]> {
  if (arrived.length === 0) return [];
  await claimConnectionsOf(tx, arrived);
  const { fresh, repeats } = await tellRepeats(tx, arrived);
  const parts = fresh.flatMap(toPart);
  if (parts.length > 0) await db.insertParts(tx, parts);
  const joined = parts.length > 0 ? await joinParts(tx, parts) : [];
  await insertMessages(tx, onInbound, [...fresh.flatMap(toWhole), ...joined]);
  return repeats;
}

async function claimConnectionsOf(tx: Db, rows: readonly { readonly connectionId: number }[]): Promise<void> {
  const ids = new Set(rows.map((row) => row.connectionId));
  await db.claimConnections(tx, { connectionIds: [...ids].sort((a, b) => a - b) });
}

/**
 * True if a message is young enough to be new: anything that a network sends later than that is a repeat that is no
 * longer remembered.
 */
const isRecent = ({ inbound: { rich } }: CarrierInbound): boolean =>
  !rich?.at || rich.at.getTime() > Date.now() - KEEP_RICH_SECONDS * SECOND_MS;

/** Separates repeats from messages that are not stored yet. Both keep their order. */
async function tellRepeats(
  tx: Db,
  arrived: readonly CarrierInbound[],
): Promise<{ fresh: CarrierInbound[]; repeats: CarrierInbound[] }> {
  const rows = arrived.map((one) => ({ one, ...seenOf(one), keepSeconds: keepSecondsOf(one) }));
  const firsts = new Map(
    rows
      .filter(({ one }) => isRecent(one))
      .toReversed()
      .map((row) => [keyOfSeen(row), row]),
  );
  const news = new Set((await db.insertSeen(tx, [...firsts.values()])).map(keyOfSeen));
  const isNew = (row: (typeof rows)[number]): boolean => news.has(keyOfSeen(row)) && firsts.get(keyOfSeen(row)) === row;
  const words = await db.findWords(
    tx,
    rows.flatMap((row) => (isNew(row) || !isPlain(row.one) ? [] : [row.one])),
  );
  const isFresh = (row: (typeof rows)[number]): boolean => isNew(row) || words.has(row.one);
  const { fresh = [], repeats = [] } = Object.groupBy(rows, (row) => (isFresh(row) ? 'fresh' : 'repeats'));
  return { fresh: fresh.map(({ one }) => one), repeats: repeats.map(({ one }) => one) };
}

const isPlain = ({ inbound: { rich, concat } }: CarrierInbound): boolean => !rich && concat === null;

const keepSecondsOf = ({ inbound: { rich } }: CarrierInbound): number => (rich ? KEEP_RICH_SECONDS : KEEP_SECONDS);

const seenOf = ({ connectionId, inbound }: CarrierInbound): db.Seen => ({ connectionId, hash: hashOf(inbound) });
const keyOfSeen = ({ connectionId, hash }: db.Seen): string => `${connectionId}/${hash.toString('hex')}`;

const idOf = ({ rich, carrierId }: Inbound): string | null => rich?.id ?? carrierId ?? null;

/** The hash includes the number of the part: with SAR it is not in the bytes, and two parts may have the same text. */
const hashOf = ({ source, destination, concat, raw, rich, carrierId }: Inbound): Buffer =>
  rich
    ? createHash('sha256')
        .update(JSON.stringify([rich.channel, rich.id]))
        .digest()
    : createHash('sha256')
        .update(JSON.stringify([source, destination, concat, carrierId]))
        .update(raw)
        .digest();

type Whole = Omit<db.NewInboundMessage, 'accountId' | 'id'>;

const toWhole = ({ connectionId, inbound }: CarrierInbound): Whole[] => {
  const { source, destination, text, raw, concat, rich } = inbound;
  if (concat !== null) return [];
  const body = text.toWellFormed();
  const whole = { connectionId, source, destination, body, octets: raw, parts: 1, partsReceived: 1, receivedAt: null };
  return [{ ...whole, ...(rich ? toRich(rich) : PLAIN) }];
};

const PLAIN = { channel: 'SMS', messageType: 'TEXT', details: null, content: null } as const;

const toRich = ({ channel, messageType, at, content, ...rich }: RichInbound) => ({
  channel,
  messageType,
  details: { ...rich, at: at && at.toISOString() },
  content: content ?? null,
});

const toPart = ({ connectionId, inbound }: CarrierInbound): db.NewPart[] => {
  const { source, destination, text, raw, concat } = inbound;
  return concat === null ? [] : [{ connectionId, source, destination, ...concat, text, octets: raw }];
};

/** Joins those of these long messages that are complete or overdue, and deletes their waiting parts. */
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
  const owned = messages.map((message) => ({
    ...message,
    accountId: accounts.get(`${message.connectionId}/${message.destination}`) ?? NO_ACCOUNT_ID,
  }));
  const served = await keepForOthers(tx, 'inbound', owned, toPassedOn);
  if (served.length > 0) await insertServed(tx, onInbound, served);
}

async function insertServed(
  tx: Db,
  onInbound: OnInbound,
  messages: readonly (Whole & { readonly accountId: number })[],
): Promise<void> {
  // Ids made in the same millisecond are not in order, but the messages of a conversation are.
  const ids = messages.map(newId).sort();
  const named = messages.map((message, index) => ({ ...message, id: ids[index] ?? newId() }));
  const all = await db.withQuoted(tx, named);
  const { heard, settingsOf } = await hear(tx, all);
  const stored = heard.filter(({ details }) => !details?.notice);
  await db.insertInboundMessages(tx, stored);
  await onInbound(tx, heard.flatMap(toArrival));
  await publishEvents(tx, stored.map(toEvent));
  const owned = stored.filter(({ accountId }) => accountId !== NO_ACCOUNT_ID);
  await applyConsentWords(tx, owned, settingsOf);
  await applyOptInReplies(tx, owned);
  await noteWishes(tx, owned);
  await reactToKeywords(tx, owned);
}

/** Serializes a message for another cell: JSON has neither bytes nor times. */
const toPassedOn = ({ octets, receivedAt, ...message }: Whole): string =>
  JSON.stringify({
    ...message,
    octets: Buffer.from(octets).toString('base64'),
    receivedAt: (receivedAt ?? new Date()).toISOString(),
  });

type PassedMessage = Omit<Whole, 'octets' | 'receivedAt'> & { readonly octets: string; readonly receivedAt: string };

/** Stores inbound messages that another cell has passed on, in the caller's transaction; each once. */
export async function receivePassedOn(
  tx: Db,
  onInbound: OnInbound,
  passed: readonly { readonly connectionId: number; readonly content: string }[],
): Promise<void> {
  await insertMessages(
    tx,
    onInbound,
    passed.map(({ connectionId, content }) => {
      const { octets, receivedAt, ...message } = JSON.parse(content) as PassedMessage;
      return { ...message, connectionId, octets: Buffer.from(octets, 'base64'), receivedAt: new Date(receivedAt) };
    }),
  );
}

function toArrival({ body, details, receivedAt, ...message }: db.NewInboundMessage & Heard): ReceivedMessage[] {
  if (message.accountId === NO_ACCOUNT_ID) return [];
  const at = details?.at ? new Date(details.at) : (receivedAt ?? new Date());
  const { profileName = null, media = null, alias = null, notice = null } = details ?? {};
  return [{ ...message, text: body, at, profileName, media, alias, notice }];
}

const toEvent = ({ accountId, id, receivedAt }: db.NewInboundMessage) => ({
  accountId,
  kind: 'INBOUND' as const,
  messageId: id,
  at: receivedAt,
});

/** Result of joining waiting parts. */
type Assembled = {
  /** The parts of each message that is complete or no longer waits for the others, in reading order. */
  readonly messages: readonly (readonly Part[])[];
  /** The ids of the parts that need not wait any more: those of the messages, and duplicates. */
  readonly spentIds: readonly number[];
};

/**
 * Joins long messages from all their waiting parts, given in the order in which they were received (GSM 03.40,
 * 9.2.3.24). A part may arrive at any time, and twice. An incomplete message is joined as it is when it is overdue, and
 * when a part with another text arrives with the number of an existing one: the handset uses the reference for its next
 * message.
 */
export function assemble(parts: readonly Part[]): Assembled {
  const sets = [...Map.groupBy(parts, keyOf).values()].map(assembleSet);
  return { messages: sets.flatMap((set) => set.messages), spentIds: sets.flatMap((set) => set.spentIds) };
}

const keyOf = ({ connectionId, source, destination, ref, total }: Part): string =>
  JSON.stringify([connectionId, source, destination, ref, total]);

function assembleSet(parts: readonly Part[]): Assembled {
  const messages: Part[][] = [];
  const repeats: Part[] = [];
  let waiting = new Map<number, Part>();
  const join = (): void => {
    messages.push([...waiting.values()].sort((a, b) => a.seq - b.seq));
    waiting = new Map();
  };
  for (const part of parts) {
    const there = waiting.get(part.seq);
    if (there && isSame(there, part)) {
      repeats.push(part);
      continue;
    }
    if (there) join();
    waiting.set(part.seq, part);
    if (waiting.size === part.total) join();
  }
  if ([...waiting.values()].some((part) => part.overdue)) join();
  return { messages, spentIds: [...messages.flat(), ...repeats].map((part) => part.id) };
}

const isSame = (a: Part, b: Part): boolean => a.text === b.text && Buffer.compare(a.octets, b.octets) === 0;

/** Completes long inbound messages whose missing parts are overdue, and deletes old hashes of received messages. */
export const inboundTasks = (deps: InboundDeps): Task[] => [
  { name: 'incomplete inbound', work: untilIdle(() => endOverdueParts(deps), 10 * SECOND_MS) },
  { name: 'old inbound', work: every(MINUTE_MS, () => deleteOldSeen(deps.pool)) },
];

type ListFlags = { readonly account?: string; readonly limit: number };

/** Registers `inbound list`. */
export function registerInboundCommands(program: Command, context: CommandContext): void {
  program
    .command('inbound')
    .description('inbound messages')
    .command('list')
    .description('list the newest inbound messages of an account, or those to unassigned numbers')
    .option('--account <account>', 'name or id')
    .option('--limit <n>', 'maximum number of messages', Number, 50)
    .action(async (flags: ListFlags) => context.report(await listInbound(context, flags), showInbound));
}

function listInbound(context: CommandContext, { account, limit }: ListFlags): Promise<db.InboundMessage[]> {
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
    throw invalidFields([{ field: '--limit', message: 'must be a whole number from 1 to 10000' }]);
  return context.withDatabase(async (pool) => {
    const accountId = account === undefined ? NO_ACCOUNT_ID : (await findAccount(pool, { reference: account })).id;
    return db.listInboundMessages(pool, { accountId, limit });
  });
}

const showInbound = (rows: readonly db.InboundMessage[]): string =>
  table(
    ['received', 'channel', 'connection', 'from', 'to', 'parts', 'text'],
    rows.map((m) => [
      m.receivedAt.toISOString(),
      m.channel,
      m.connection,
      printable(m.source),
      printable(m.destination),
      m.parts === m.partsReceived ? m.parts : `${m.partsReceived} of ${m.parts}`,
      printable(m.body),
    ]),
  );
