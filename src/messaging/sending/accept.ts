import type { Pool } from 'pg';
import { createConsentCheck } from '../consent/check.ts';
import { type Charge, fitIntoCredit, freeze, type OnceCharge } from '../../money/credit/charge.ts';
import { isShortage } from '../../money/credit/sql.ts';
import { groupCommit } from '../../platform/db/group-commit.ts';
import type { Db } from '../../platform/db/query.ts';
import { burst, transaction } from '../../platform/db/transaction.ts';
import { insertChunks, type NewChunk } from '../../network/dispatch/sql.ts';
import type { Waker } from '../../network/dispatch/wake.ts';
import type { Actor } from '../../platform/http/actor.ts';
import { deadlinesOf } from '../expiry/deadlines.ts';
import { insertDeadlines } from '../expiry/sql.ts';
import { contentHash, type Draft, type Verdict } from './draft.ts';
import { insertFallbacks, type NewFallback } from '../messages/fallback/sql.ts';
import { prepare, type Prepared, type Requester, type Tables } from './prepare.ts';
import { KeyTaken, isKeyTaken } from '../../platform/idempotency/sql.ts';
import {
  firstOfEachKey,
  storeAnswers,
  type IdempotentSend,
  type MaybeIdempotent,
  withoutTakenKeys,
} from './idempotent-send.ts';
import { planSimulation } from '../simulation/simulate.ts';
import * as db from '../messages/sql.ts';

const ROWS_A_STATEMENT = 1000;
const CHUNK_SIZE = 1000;

export type AcceptDeps = { readonly pool: Pool; readonly tables: Tables; readonly waker: Waker };

/** Who sends, as far as it matters here. */
type Sender = Requester & Pick<Actor, 'hasOptOuts'>;

/** The two ways in. A promise that resolved means: committed. */
export type Accept = {
  /**
   * One message; goes into one transaction with whatever else arrives while the previous commit is under way. What a
   * keyed send is answered is stored in it too; rejects (`isKeyTaken`), and nothing is stored, when its key is taken.
   */
  one(actor: Actor, draft: Draft, keyed?: IdempotentSend): Promise<Verdict>;
  /** Many messages in one transaction of their own: all that are accepted are stored, or the call rejects and none is. */
  many(actor: Actor, drafts: readonly Draft[]): Promise<Verdict[]>;
  /** As `many`, for a request that counts once: null, and nothing stored, when it was not free. */
  once(actor: Sender, drafts: readonly Draft[], request: OnceRequest): Promise<Verdict[] | null>;
};

/** A request that counts once. Both are called in the transaction that stores its messages. */
export type OnceRequest = {
  /** Takes the request's id; false when another has it. Waits for one that is being stored at the moment. */
  take(tx: Db): Promise<boolean>;
  /** Keeps what the request is answered. */
  keep(tx: Db, verdicts: readonly Verdict[]): Promise<void>;
};

/** Called with the verdicts before the credit is frozen. */
type Keep = OnceRequest['keep'];

/**
 * Takes messages: each draft runs through the steps of `prepare`, then client ids, messages, queue chunks and the
 * frozen credit are committed together, in request order, and only then is the queue woken.
 */
export function createAccept({ pool, tables, waker }: AcceptDeps): Accept {
  /**
   * Supposes first that the credit suffices and freezes it as the last statement, so that the balance is locked for the
   * commit alone. When it does not, all is rolled back and done again with the balance locked from the start, to find
   * out which messages fit.
   */
  async function storing<T>(
    supposed: (chunks: NewChunk[]) => Promise<T>,
    fitting: (chunks: NewChunk[]) => Promise<T>,
  ): Promise<T> {
    const chunks: NewChunk[] = [];
    const stored = await supposed(chunks).catch((error: unknown) => {
      if (!isShortage(error)) throw error;
      chunks.length = 0;
      return fitting(chunks);
    });
    for (const connectionId of new Set(chunks.map((chunk) => chunk.connectionId))) waker.wake(connectionId);
    return stored;
  }

  function store(items: readonly Item[]): Promise<Verdict[]> {
    const simple = items.every((item) => claimedId(item) === null && !item.message.simulation);
    const keep: Keep = (tx, verdicts) => storeAnswers(tx, items, verdicts);
    return storing(
      (chunks) =>
        simple ? burstAll(pool, items, chunks) : transaction(pool, (tx) => storeAll(tx, items, chunks, keep)),
      (chunks) => transaction(pool, (tx) => storeFitting(tx, items, chunks, keep)),
    );
  }

  /** Passes over sends whose key another request has: null for them. */
  async function storeFree(items: readonly Item[]): Promise<(Verdict | null)[]> {
    let free = firstOfEachKey(items);
    for (;;) {
      try {
        const verdicts = await store(free);
        const verdictOf = new Map(free.map((item, i) => [item, verdicts[i]]));
        return items.map((item) => verdictOf.get(item) ?? null);
      } catch (error) {
        if (!isKeyTaken(error)) throw error;
        free = await withoutTakenKeys(pool, free);
      }
    }
  }
  const findOptedOut = createConsentCheck(pool);
  const prepareAll = async (actor: Sender, drafts: readonly Draft[]) => {
    const isOptedOut = await findOptedOut(actor, drafts);
    return drafts.map((draft) => prepare(actor, draft, tables, isOptedOut));
  };
  const storeOne = groupCommit<Item, Verdict | null>({ flush: storeFree, maxItems: ROWS_A_STATEMENT, inFlight: 2 });

  return {
    async one(actor, draft, keyed) {
      const prepared = prepare(actor, draft, tables, await findOptedOut(actor, [draft]));
      if (prepared.kind === 'refused') {
        await storeAnswers(pool, [{ keyed }], [prepared]);
        return prepared;
      }
      const verdict = await storeOne(keyed ? { ...prepared, keyed } : prepared);
      if (!verdict) throw new KeyTaken('the key was taken by another send');
      return verdict;
    },
    async many(actor, drafts) {
      const prepared = await prepareAll(actor, drafts);
      return withRefused(prepared, await store(prepared.filter((p) => p.kind === 'prepared')));
    },
    async once(actor, drafts, request) {
      const prepared = await prepareAll(actor, drafts);
      const items = prepared.filter((p) => p.kind === 'prepared');
      const keep: Keep = (tx, stored) => request.keep(tx, withRefused(prepared, stored));
      const taking = (how: typeof storeAll) => (chunks: NewChunk[]) =>
        transaction(pool, async (tx) => ((await request.take(tx)) ? how(tx, items, chunks, keep) : null));
      const stored = await storing(taking(storeAll), taking(storeFitting));
      return stored && withRefused(prepared, stored);
    },
  };
}

type Item = Prepared & MaybeIdempotent;

type Refused = Extract<Verdict, { kind: 'refused' }>;

/** The verdicts on all drafts, of those on the drafts that were not refused at first sight. */
function withRefused(prepared: readonly (Prepared | Refused)[], stored: readonly Verdict[]): Verdict[] {
  let next = 0;
  return prepared.map((p) => (p.kind === 'refused' ? p : (stored[next++] as Verdict)));
}

/** The client id that it takes; one that follows another message bears that one's. */
const claimedId = ({ message, draft }: Prepared): string | null => (draft.isHop ? null : message.clientId);

const chargeOf = ({ message }: Prepared): Charge => ({ accountId: message.accountId, micros: message.priceMicros });

/** For messages without a client id, simulated ones excepted: nothing of them needs an answer before the commit. */
async function burstAll(pool: Pool, items: readonly Item[], chunks: NewChunk[]): Promise<Verdict[]> {
  const verdicts = items.map(accepted);
  await burst(pool, (tx) => [storeAnswers(tx, items, verdicts), insertAll(tx, items, chunks)]);
  return verdicts;
}

async function storeAll(tx: Db, items: readonly Prepared[], chunks: NewChunk[], keep: Keep): Promise<Verdict[]> {
  const { fresh, verdicts } = await claimClientIds(tx, items);
  const simulated = fresh.flatMap(({ message }) => (message.simulation ? [message] : []));
  if (simulated.length > 0) await planSimulation(tx, simulated);
  await Promise.all([keep(tx, verdicts), insertAll(tx, fresh, chunks)]);
  return verdicts;
}

async function storeFitting(tx: Db, items: readonly Prepared[], chunks: NewChunk[], keep: Keep): Promise<Verdict[]> {
  const fits = await fitIntoCredit(tx, await chargesOf(tx, items));
  const withShort = (verdicts: readonly Verdict[]): Verdict[] => {
    let next = 0;
    return fits.map((fit) => (fit ? (verdicts[next++] as Verdict) : { kind: 'refused', refusal: 'no_credit' }));
  };
  const affordable = items.filter((_, i) => fits[i]);
  return withShort(await storeAll(tx, affordable, chunks, (to, verdicts) => keep(to, withShort(verdicts))));
}

/** What each message would cost. A client id in use makes it a repeat or a conflict: neither costs anything. */
async function chargesOf(tx: Db, items: readonly Prepared[]): Promise<OnceCharge[]> {
  const claims = items.flatMap((item) => {
    const clientId = claimedId(item);
    return clientId === null ? [] : [{ accountId: item.message.accountId, clientId }];
  });
  const inUse = claims.length > 0 ? await db.listClientIds(tx, claims) : [];
  const used = new Set(inUse.map((holder) => `${holder.accountId}/${holder.clientId}`));
  return items.map((item) => ({
    ...chargeOf(item),
    micros: claimedId(item) !== null && used.has(keyOf(item)) ? 0 : item.message.priceMicros,
    key: claimedId(item) === null ? null : keyOf(item),
  }));
}

/** Messages, their chunks and their credit. Everything is sent before this returns, as a `burst` wants it. */
async function insertAll(tx: Db, fresh: readonly Prepared[], chunks: NewChunk[]): Promise<void> {
  if (fresh.length === 0) return;
  const messages = fresh.map((p) => p.message);
  chunks.push(...chunksOf(fresh));
  const deadlines = deadlinesOf(messages);
  const fallbacks = fresh.flatMap(toFallback);
  const batches = Array.from({ length: Math.ceil(messages.length / ROWS_A_STATEMENT) }, (_, i) =>
    messages.slice(i * ROWS_A_STATEMENT, (i + 1) * ROWS_A_STATEMENT),
  );
  await Promise.all([
    ...batches.map((batch) => db.insertMessages(tx, batch)),
    ...(chunks.length > 0 ? [insertChunks(tx, chunks)] : []),
    ...(deadlines.length > 0 ? [insertDeadlines(tx, deadlines)] : []),
    ...(fallbacks.length > 0 ? [insertFallbacks(tx, fallbacks)] : []),
    freeze(tx, fresh.map(chargeOf), messages[0]?.id ?? ''),
  ]);
}

const toFallback = ({ message: { accountId, id }, draft: { hops = [], scheduledAt } }: Prepared): NewFallback[] =>
  hops.length === 0 ? [] : [{ accountId, id, from: scheduledAt, hops }];

const accepted = ({ message, unicode }: Prepared): Verdict => ({
  kind: 'accepted',
  messageId: message.id,
  parts: message.parts,
  unicode,
});

/**
 * Sorts out repeats: a client id in use with the same content gives the first message again, with other content a
 * conflict; both inside the batch and against what is stored.
 */
async function claimClientIds(
  tx: Db,
  items: readonly Prepared[],
): Promise<{ fresh: readonly Prepared[]; verdicts: Verdict[] }> {
  const claims = new Map<string, Claim>();
  for (const item of items) if (claimedId(item) !== null) addClaim(claims, item);
  if (claims.size === 0) return { fresh: items, verdicts: items.map(accepted) };
  const holders = await holdersOf(tx, [...claims.values()]);
  const verdicts = items.map((item) => judge(item, holders));
  const fresh = items.filter(
    (item) => claimedId(item) === null || holders.get(keyOf(item))?.messageId === item.message.id,
  );
  return { fresh, verdicts };
}

type Claim = db.ClientIdClaim & { readonly parts: number };
type Holder = { readonly messageId: string; readonly contentHash: Uint8Array; readonly parts: number };

const keyOf = ({ message }: Prepared): string => `${message.accountId}/${message.clientId}`;

function addClaim(claims: Map<string, Claim>, item: Prepared): void {
  const { accountId, id, parts } = item.message;
  const clientId = claimedId(item);
  const key = keyOf(item);
  if (clientId !== null && !claims.has(key))
    claims.set(key, { accountId, clientId, messageId: id, contentHash: contentHash(item.draft), parts });
}

async function holdersOf(tx: Db, claims: readonly Claim[]): Promise<Map<string, Holder>> {
  const won = await db.insertClientIds(tx, claims);
  const lost = claims.filter((claim) => !won.has(claim.messageId));
  const held = lost.length > 0 ? await db.listClientIds(tx, lost) : [];
  const winners = claims.filter((claim) => won.has(claim.messageId));
  return new Map([...winners, ...held].map((h) => [`${h.accountId}/${h.clientId}`, h]));
}

function judge(item: Prepared, holders: ReadonlyMap<string, Holder>): Verdict {
  const holder = claimedId(item) === null ? undefined : holders.get(keyOf(item));
  if (!holder || holder.messageId === item.message.id) return accepted(item);
  const same = Buffer.compare(holder.contentHash, contentHash(item.draft)) === 0;
  return same
    ? { kind: 'accepted', messageId: holder.messageId, parts: holder.parts, unicode: item.unicode }
    : { kind: 'conflict' };
}

/** One chunk for up to 1,000 messages of the same account, route, priority and time, in request order. */
function chunksOf(items: readonly Prepared[]): NewChunk[] {
  const open = new Map<string, { chunk: NewChunk; ids: string[] }>();
  const chunks: NewChunk[] = [];
  for (const { message, draft, connectionIds, onUnknown } of items) {
    const { accountId } = message;
    const [connectionId, ...alternates] = connectionIds;
    if (connectionId === undefined) continue;
    const key = `${accountId}/${connectionIds.join()}/${draft.priority}/${onUnknown}/${draft.scheduledAt?.getTime() ?? ''}`;
    let entry = open.get(key);
    if (!entry || entry.ids.length >= CHUNK_SIZE) {
      const ids: string[] = [];
      entry = {
        ids,
        chunk: {
          accountId,
          connectionId,
          alternates,
          onUnknown,
          priority: draft.priority,
          availableAt: draft.scheduledAt,
          ids,
        },
      };
      open.set(key, entry);
      chunks.push(entry.chunk);
    }
    entry.ids.push(message.id);
  }
  return chunks;
}
