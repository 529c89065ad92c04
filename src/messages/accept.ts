import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import type { Actor } from '../core/actor.ts';
import { mapInSlices, recordSingleSend, yieldToSingles } from '../core/background.ts';
import { isRoutedBySender } from '../core/channels.ts';
import { type Db, exec, sql } from '../core/db/query.ts';
import { burst, groupCommit, inTurn, isLockTimeout, transaction } from '../core/db/transaction.ts';
import { AccountAway } from '../core/errors.ts';
import { faultPoint } from '../core/faults.ts';
import { isKeyTaken, KeyTaken } from '../core/idempotency.ts';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import { traceparentOf } from '../core/tracing.ts';
import { createExpress, type Express, type Passage } from '../dispatch/express.ts';
import { insertChunks } from '../dispatch/store.ts';
import { type Charge, fitIntoCredit, freeze, isShortage, type OnceCharge } from '../money/credit.ts';
import { createStickyLookup, type FindSticky, NO_STICKY, type SenderRules } from '../routing/sender-rules.ts';
import { insertReceiptRequests, type ReceiptRequest } from '../webhooks/smpp-outbox.ts';
import { findWindows, withFreePrices } from './billing.ts';
import { insertCodedMessages } from './codes.ts';
import { createConsentCheck, readDestination } from './consent.ts';
import { accepted, claimClientIds, claimedId, keyOf, listClientIds } from './client-ids.ts';
import { insertTraces, type NewTrace, publishAccepted } from './events.ts';
import { deadlinesOf, insertDeadlines } from './expiry.ts';
import { insertFallbacks, type NewFallback } from './fallback-store.ts';
import { jobOf } from './load.ts';
import {
  type AnnounceDeps,
  announce,
  insertMessages,
  isWhole,
  type NewMessage,
  type Queued,
  traceAccepted,
} from './new-messages.ts';
import { findNetworks, type Lookups, type Prepared, prepare, type Requester } from './prepare.ts';
import type { Draft, Verdict } from './read-send.ts';
import {
  firstOfEachKey,
  type IdempotentSend,
  type MaybeIdempotent,
  storeAnswers,
  withoutTakenKeys,
} from './send-response.ts';
import { planSimulation } from './simulation.ts';
import { withinWeeklyCap } from './weekly-cap.ts';

/**
 * Rows per statement, few enough that it leaves a core of the database, and the event loop, to single sends after some
 * 3 ms.
 */
const ROWS_PER_STATEMENT = 500;
const CHUNK_SIZE = 1000;
/** Time that an account sends alone after its sends had to wait for its own locks. */
const ALONE_MS = 5000;
/** Limit of lock waits in a batch of several accounts; without it, one account that holds a lock holds up all. */
const LIMIT_LOCKS = sql`SET LOCAL lock_timeout = '100ms'`;

type CommitOne = (item: Item) => Promise<Verdict | null | 'away'>;
/** The function that resolves when a single message is committed. */
export const COMMIT_ONE = faultPoint<CommitOne>();

export type AcceptDeps = AnnounceDeps & {
  readonly pool: Pool;
  readonly tables: Lookups;
  /** The lanes of the pumps of this process; omitted if it has none. */
  readonly express?: Express;
};

export type Sender = Requester & Pick<Actor, 'hasOptOuts'>;

/** The ways to accept messages. When a promise resolves, the messages are committed. */
export type Accept = {
  /**
   * Accepts one message, in one transaction with everything else that arrives while the previous commit is under way.
   * With `idempotency` the response is stored in that transaction too; when the key is taken, this rejects
   * (`isKeyTaken`) and stores nothing.
   */
  one(actor: Sender, draft: Draft, idempotency?: IdempotentSend): Promise<Verdict>;
  /**
   * Accepts many messages in a separate transaction, when it is the account's turn: all that are not rejected are
   * stored, or the call rejects.
   */
  many(actor: Sender, drafts: readonly Draft[]): Promise<Verdict[]>;
  /**
   * Accepts the messages of a request that may be accepted once. Null, with nothing stored, when it was accepted
   * before.
   */
  once(actor: Sender, drafts: readonly Draft[], request: OnceRequest): Promise<Verdict[] | null>;
};

/** A request that may be accepted once. Both functions are called in the transaction that stores its messages. */
export type OnceRequest = {
  /** Claims the request; false when it was accepted before. Waits while another transaction is accepting it. */
  claim(tx: Db): Promise<boolean>;
  /** Records the verdicts on the drafts, for the response to a repeated request. */
  record(tx: Db, verdicts: readonly Verdict[]): Promise<void>;
};

/** Called with the verdicts before the credit is frozen. */
type RecordVerdicts = OnceRequest['record'];

/** The chunks that a transaction has queued, and the single sends that do not wait in the queue. */
type Stored = {
  readonly queued: Queued[];
  readonly passed: NewMessage[];
  readonly passage: Passage;
  /** True for a message of an account that takes events that its messages were accepted. */
  readonly isTold: (message: NewMessage) => boolean;
};

/** Writes messages in a separate transaction, and adds what it has stored to `stored`. */
type Attempt<T> = (stored: Stored) => Promise<T>;

/**
 * Creates the entry point for messages: each draft runs through the steps of `prepare`, then client ids, messages,
 * queue chunks and the frozen credit are committed together, in the order of the request. Only then is the queue woken.
 */
export function createAccept(deps: AcceptDeps): Accept {
  const { pool, tables, express = createExpress(), tracing } = deps;
  const isTold = ({ accountId }: NewMessage): boolean => tables.takesAccepted?.(accountId) ?? false;
  /**
   * Assumes first that the credit suffices and freezes it as the last statement, so that the balance is locked only
   * during the commit. When the credit does not suffice, everything is rolled back and repeated with the balance locked
   * from the start, to find out which messages it covers.
   */
  async function supposingCredit<T>(optimistic: Attempt<T>, withinCredit: Attempt<T>): Promise<T> {
    return attempt(optimistic).catch((error: unknown) => {
      if (!isShortage(error)) throw error;
      return attempt(withinCredit);
    });
  }

  /** After the commit, writes the single sends that do not wait in the queue, and wakes it for the others. */
  async function attempt<T>(work: Attempt<T>): Promise<T> {
    const stored: Stored = { queued: [], passed: [], passage: express.begin(), isTold };
    const result = await work(stored).catch((error: unknown) => {
      stored.passage.cancel(error);
      throw error;
    });
    stored.passage.start();
    if (tracing) traceAccepted(tracing, stored.passed);
    announce(deps, stored.queued);
    return result;
  }

  function commitBatch(items: readonly Item[], isShared = false): Promise<Verdict[]> {
    const simple =
      items.length <= ROWS_PER_STATEMENT &&
      items.every((item) => claimedId(item) === null && !item.message.simulation && !item.free && !item.weeklyCap);
    const record: RecordVerdicts = (tx, verdicts) => storeAnswers(tx, items, verdicts);
    const inTransaction = (work: (tx: Db) => Promise<Verdict[]>): Promise<Verdict[]> =>
      transaction(pool, async (tx) => {
        if (isShared) await exec(tx, LIMIT_LOCKS);
        return work(tx);
      });
    return supposingCredit(
      async (stored) => {
        if (!simple) return inTransaction((tx) => claimAndInsert(tx, items, stored, record));
        // Nothing has to be read first, so all statements are sent at the same time.
        const verdicts = items.map(accepted);
        await burst(pool, (tx) => [
          ...(isShared ? [exec(tx, LIMIT_LOCKS)] : []),
          record(tx, verdicts),
          insertAll(tx, items, stored),
        ]);
        return verdicts;
      },
      (stored) => inTransaction((tx) => insertAffordable(tx, items, stored, record)),
    );
  }

  /**
   * Commits the sends whose key is free and whose account is served here. The result is null for those whose key
   * another request has taken.
   */
  async function commitWithFreeKeys(items: readonly Item[], isShared = false): Promise<(Verdict | null | 'away')[]> {
    let free = firstOfEachKey(items);
    const away = new Set<number>();
    for (;;) {
      try {
        const verdicts = free.length === 0 ? [] : await commitBatch(free, isShared);
        const verdictOf = new Map(free.map((item, i) => [item, verdicts[i]]));
        return items.map((item) => (away.has(item.message.accountId) ? 'away' : (verdictOf.get(item) ?? null)));
      } catch (error) {
        if (error instanceof AccountAway) {
          for (const id of error.accountIds) away.add(id);
          free = free.filter(({ message }) => !away.has(message.accountId));
        } else if (isKeyTaken(error)) free = await withoutTakenKeys(pool, free);
        else throw error;
      }
    }
  }
  const findOptedOut = createConsentCheck(pool, tables.hashOfPerson);
  const findKnownSenders = createKnownSenders(deps);
  const preparing = async (actor: Sender, drafts: readonly Draft[]) => {
    const findConsentFault = await findOptedOut(actor, drafts);
    const findSticky = await findKnownSenders(actor, drafts);
    const networkOf = await findNetworks(deps, actor, drafts, { findConsentFault, findSticky });
    const known = { findSticky, networkOf, windowsOf: await findWindows(deps, actor, drafts) };
    return (draft: Draft) => prepare(actor, draft, tables, findConsentFault, known);
  };
  const prepareAll = async (actor: Sender, drafts: readonly Draft[]) =>
    mapInSlices(drafts, await preparing(actor, drafts));
  /**
   * Commits a batch; each account separately when one of them has to wait for a lock, and then that one not at all:
   * 'waits'.
   */
  async function commitShared(items: readonly Item[]): Promise<(Verdict | null | 'away' | 'waits')[]> {
    const attempt = (some: readonly Item[]) =>
      commitWithFreeKeys(some, true).catch((error: unknown) => {
        if (!isLockTimeout(error)) throw error;
        return null;
      });
    const together = await attempt(items);
    if (together) return together;
    const results = new Map<Item, Verdict | null | 'away' | 'waits'>();
    for (const own of Map.groupBy(items, ({ message }) => message.accountId).values()) {
      const verdicts = own.length === items.length ? null : await attempt(own);
      for (const [i, item] of own.entries()) results.set(item, verdicts ? (verdicts[i] ?? null) : 'waits');
    }
    return items.map((item) => results.get(item) ?? null);
  }
  const joinNextCommit = groupCommit({ flush: commitShared, maxItems: ROWS_PER_STATEMENT, inFlight: 2 });
  /** The batches of accounts that send alone, each in the account's turn. */
  const alone = new LRUCache<number, (item: Item) => Promise<Verdict | null | 'away'>>({ max: 10_000, ttl: ALONE_MS });

  function sendAlone(accountId: number) {
    const flush = (items: Item[]) => inTurn(pool, { accountId }, () => commitWithFreeKeys(items));
    const join = groupCommit({ flush, maxItems: ROWS_PER_STATEMENT, inFlight: 1 });
    alone.set(accountId, join);
    return join;
  }

  const commitOne = COMMIT_ONE.pass(async (item) => {
    const { accountId } = item.message;
    const join = alone.get(accountId);
    if (join) return join(item);
    const verdict = await joinNextCommit(item);
    return verdict === 'waits' ? (alone.get(accountId) ?? sendAlone(accountId))(item) : verdict;
  });

  return {
    async one(actor, draft, idempotency) {
      recordSingleSend();
      const prepared = (await preparing(actor, [draft]))(draft);
      if (prepared.kind === 'refused') {
        // A key may be held by another request of the account.
        if (idempotency) await inTurn(pool, actor, () => storeAnswers(pool, [{ idempotency }], [prepared]));
        return prepared;
      }
      const verdict = await commitOne(idempotency ? { ...prepared, idempotency } : prepared);
      if (verdict === 'away') throw new AccountAway([actor.accountId]);
      if (!verdict) throw new KeyTaken('the key was taken by another send');
      return verdict;
    },
    async many(actor, drafts) {
      const prepared = await prepareAll(actor, drafts);
      const items = prepared.filter((p) => p.kind === 'prepared');
      return withRefused(prepared, await inTurn(pool, actor, () => commitBatch(items)));
    },
    async once(actor, drafts, request) {
      if (drafts.some(({ priority }) => priority <= 0)) recordSingleSend();
      const prepared = await prepareAll(actor, drafts);
      const items = prepared.filter((p) => p.kind === 'prepared');
      const record: RecordVerdicts = (tx, verdicts) => request.record(tx, withRefused(prepared, verdicts));
      const claiming = (insert: typeof claimAndInsert) => (stored: Stored) =>
        transaction(pool, async (tx) => ((await request.claim(tx)) ? insert(tx, items, stored, record) : null));
      const accepting = () => supposingCredit(claiming(claimAndInsert), claiming(insertAffordable));
      const verdicts = await inTurn(pool, actor, accepting);
      return verdicts && withRefused(prepared, verdicts);
    },
  };
}

type Item = Prepared & MaybeIdempotent;

type Refused = Extract<Verdict, { kind: 'refused' }>;

/** Completes the verdicts on the prepared drafts with the rejections of the others, in the order of the request. */
function withRefused(prepared: readonly (Prepared | Refused)[], stored: readonly Verdict[]): Verdict[] {
  let next = 0;
  return prepared.map((p) => (p.kind === 'refused' ? p : (stored[next++] as Verdict)));
}

const chargeOf = ({ message }: Prepared): Charge => ({ accountId: message.accountId, micros: message.priceMicros });

/** Stores messages whose client ids are free, and plans the ends of simulated ones. */
async function claimAndInsert(
  tx: Db,
  items: readonly Prepared[],
  stored: Stored,
  record: RecordVerdicts,
): Promise<Verdict[]> {
  const { fresh: claimed, verdicts } = await withinWeeklyCap(tx, items, await claimClientIds(tx, items));
  const fresh = await withFreePrices(tx, claimed);
  const simulated = fresh.flatMap(({ message }) => (message.simulation ? [message] : []));
  if (simulated.length > 0) {
    await publishAccepted(tx, simulated.filter(stored.isTold));
    await planSimulation(tx, simulated);
  }
  await Promise.all([record(tx, verdicts), insertAll(tx, fresh, stored)]);
  return verdicts;
}

/** Stores the messages that the credit covers, with the balance locked, and rejects the others. */
async function insertAffordable(
  tx: Db,
  items: readonly Prepared[],
  stored: Stored,
  record: RecordVerdicts,
): Promise<Verdict[]> {
  const priced = await withFreePrices(tx, items);
  const shortages = await fitIntoCredit(tx, await chargesOf(tx, priced));
  const withShort = (verdicts: readonly Verdict[]): Verdict[] => {
    let next = 0;
    return shortages.map((shortage) =>
      shortage ? { kind: 'refused', refusal: 'no_credit', shortage } : (verdicts[next++] as Verdict),
    );
  };
  const affordable = priced.filter((_, i) => shortages[i] === null);
  return withShort(await claimAndInsert(tx, affordable, stored, (to, verdicts) => record(to, withShort(verdicts))));
}

/**
 * Returns the price of each message. A client id in use makes the message a repeat or a conflict, and neither costs
 * anything.
 */
async function chargesOf(tx: Db, items: readonly Prepared[]): Promise<OnceCharge[]> {
  const claims = items.flatMap((item) => {
    const clientId = claimedId(item);
    return clientId === null ? [] : [{ accountId: item.message.accountId, clientId }];
  });
  const inUse = claims.length > 0 ? await listClientIds(tx, claims) : [];
  const used = new Set(inUse.map((holder) => `${holder.accountId}/${holder.clientId}`));
  return items.map((item) => ({
    ...chargeOf(item),
    micros: claimedId(item) !== null && used.has(keyOf(item)) ? 0 : item.message.priceMicros,
    key: claimedId(item) === null ? null : keyOf(item),
  }));
}

/**
 * Inserts messages and all that belongs to them, and freezes their credit. All statements are sent before this returns,
 * as a `burst` needs it, if one statement holds the messages. If there are several, each waits for the one before, and
 * yields to single sends: composing all of them at the same time would hold the event loop.
 */
async function insertAll(tx: Db, fresh: readonly Prepared[], stored: Stored): Promise<void> {
  if (fresh.length === 0) return;
  const messages = fresh.map((p) => p.message);
  const added = queuedOf(fresh).flatMap((queued) => passBy(stored, queued));
  stored.queued.push(...added);
  const chunks = added.map(({ chunk }) => chunk);
  const deadlines = deadlinesOf(messages);
  const fallbacks = fresh.flatMap(toFallback);
  const traces = fresh.flatMap(toTrace);
  const receipts = fresh.flatMap(toReceiptRequest);
  // Of simulated ones before they are sent.
  const told = messages.filter((message) => !message.simulation && stored.isTold(message));
  const coded = fresh.flatMap(toCoded);
  const batches = Array.from({ length: Math.ceil(messages.length / ROWS_PER_STATEMENT) }, (_, i) =>
    messages.slice(i * ROWS_PER_STATEMENT, (i + 1) * ROWS_PER_STATEMENT),
  );
  for (const batch of batches.slice(0, -1)) {
    const beganAt = performance.now();
    await insertMessages(tx, batch);
    await yieldToSingles(beganAt);
  }
  await Promise.all([
    insertMessages(tx, batches.at(-1) ?? []),
    ...(chunks.length > 0 ? [insertChunks(tx, chunks)] : []),
    ...stored.passage.insert(tx),
    ...(deadlines.length > 0 ? [insertDeadlines(tx, deadlines)] : []),
    ...(fallbacks.length > 0 ? [insertFallbacks(tx, fallbacks)] : []),
    ...(traces.length > 0 ? [insertTraces(tx, traces)] : []),
    ...(receipts.length > 0 ? [insertReceiptRequests(tx, receipts)] : []),
    ...(told.length > 0 ? [publishAccepted(tx, told)] : []),
    ...(coded.length > 0 ? [insertCodedMessages(tx, coded)] : []),
    freeze(tx, fresh.map(chargeOf), messages[0]?.id ?? ''),
  ]);
}

/** Lets those messages of a chunk pass the queue that can; returns what remains for the queue. */
function passBy({ passage, passed }: Stored, queued: Queued): Queued[] {
  const { chunk, messages } = queued;
  const count = passage.reserve(chunk, messages.every(isWhole) ? () => messages.map(jobOf) : null);
  if (count === 0) return [queued];
  passed.push(...messages.slice(0, count));
  const rest = { chunk: { ...chunk, ids: chunk.ids.slice(count) }, messages: messages.slice(count) };
  return rest.messages.length === 0 ? [] : [rest];
}

const toFallback = ({
  asksCalendar,
  message: { accountId, id, scheduledAt },
  draft: { nextChannels = [] },
}: Prepared): NewFallback[] => {
  if (nextChannels.length === 0) return [];
  const next = asksCalendar ? nextChannels.map((one) => ({ ...one, respectCalendar: true as const })) : nextChannels;
  return [{ accountId, id, from: scheduledAt, nextChannels: next }];
};

const toTrace = ({ message: { accountId, id }, draft: { caller, priority } }: Prepared): NewTrace[] =>
  caller?.mark === 'follow' && priority <= 0
    ? [{ accountId, messageId: id, traceparent: traceparentOf(caller.context), state: caller.context.state }]
    : [];

const toCoded = ({ message: { accountId, id: messageId }, draft: { coded, decisionId } }: Prepared) => {
  const verificationId = coded?.verificationId ?? decisionId;
  return verificationId === undefined ? [] : [{ accountId, messageId, verificationId }];
};

const toReceiptRequest = ({ message: { accountId, id }, draft: { smpp } }: Prepared): ReceiptRequest[] =>
  smpp ? [{ ...smpp, accountId, messageId: id, shownId: smpp.showId(id) }] : [];

/**
 * Makes a chunk for up to 1,000 messages of the same account, route, priority and time, in the order of the request.
 */
function queuedOf(items: readonly Prepared[]): Queued[] {
  const open = new Map<string, { ids: string[]; messages: NewMessage[] }>();
  const queued: Queued[] = [];
  for (const { message, draft, connectionIds, onUnknown } of items) {
    const { accountId, scheduledAt } = message;
    const [connectionId, ...alternates] = connectionIds;
    if (connectionId === undefined) continue;
    const { priority } = draft;
    const key = `${accountId}/${connectionIds.join()}/${priority}/${onUnknown}/${scheduledAt?.getTime() ?? ''}`;
    let entry = open.get(key);
    if (!entry || entry.ids.length >= CHUNK_SIZE) {
      entry = { ids: [], messages: [] };
      const chunk = {
        accountId,
        connectionId,
        alternates,
        onUnknown,
        priority,
        availableAt: scheduledAt,
        ids: entry.ids,
      };
      queued.push({ chunk, messages: entry.messages });
      open.set(key, entry);
    }
    entry.ids.push(message.id);
    entry.messages.push(message);
  }
  return queued;
}

type SendersDeps = { readonly pool: Pool; readonly tables: { readonly senderRules: SenderRules } };

/**
 * Creates a function that looks up which recipients of these drafts keep the number of a pool that they know. While no
 * recipient does in any pool, nothing is read, not even the numbers of the recipients.
 */
function createKnownSenders({ pool, tables: { senderRules } }: SendersDeps) {
  const find = createStickyLookup(pool, senderRules);
  return async (by: Requester, drafts: readonly Draft[]): Promise<FindSticky> => {
    if (!senderRules.anySticky()) return NO_STICKY;
    const { accountId, numberRules = DEFAULT_NUMBER_RULES } = by;
    return find(
      drafts.flatMap((draft) => {
        const read = isRoutedBySender(draft.channel) ? null : readDestination(draft, numberRules);
        return read === null || 'fault' in read ? [] : [{ accountId, destination: read.e164, sender: draft.sender }];
      }),
    );
  };
}
