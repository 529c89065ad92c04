import type { Pool, PoolClient } from 'pg';
import type { Receipt } from '../../carriers/events.ts';
import { keepForOthers } from '../../identity/accounts/away.ts';
import { repeatedTransaction } from '../../platform/db/transaction.ts';
import { type MatchedReceipt, receiveReceipts } from '../messages/receive-receipt.ts';
import { matchUnknowns } from '../unknown-outcomes/match-unknowns.ts';
import { type Match, matchReceipts } from './match.ts';
import * as db from './sql.ts';

const MAX_BATCHES = 8;
const MAX_PARKED = 1000;
/** Parked receipts are tried a thousand at a time, then 32, then one. */
const FEWER = 32;
const FIRST_RETRY_MS = 100;
/** Limit of a statement while a carrier waits: rows may be locked, or the database be busy. */
const MAX_STATEMENT_MS = 2000;

/** A receipt with its connection and time of arrival. */
export type Arrived = { readonly connectionId: number; readonly receipt: Receipt; readonly receivedAt: Date };
type Rest<A extends Arrived> = { readonly arrived: A; readonly reason: db.Unmatched['reason'] };
/** Receipts divided into those that matched a message and the others with the reason. */
type Matched<A extends Arrived> = {
  readonly found: A[];
  readonly receipts: MatchedReceipt[];
  readonly rest: Rest<A>[];
};

/**
 * Settles receipts that have just arrived: matches them, moves the messages, and parks receipts that match none, in one
 * transaction. Rejects when a statement takes more than two seconds, and then nothing has changed.
 *
 * @returns the number of receipts that were parked
 */
export async function settleReceipts(
  pool: Pool,
  arrived: readonly Arrived[],
  now: Date,
  onMatched?: OnMatched,
): Promise<number> {
  const { parked, receipts } = await repeatedTransaction(pool, async (tx) => {
    const [, settled] = await Promise.all([db.setStatementTimeoutMs(tx, MAX_STATEMENT_MS), settle(tx, arrived, now)]);
    return settled;
  });
  onMatched?.(receipts);
  return parked;
}

/** Called after commit with the receipts that matched a message. */
export type OnMatched = (receipts: readonly MatchedReceipt[]) => void;

type Settled = { readonly parked: number; readonly receipts: readonly MatchedReceipt[] };

async function settle(tx: PoolClient, arrived: readonly Arrived[], now: Date): Promise<Settled> {
  const { receipts, rest } = await matchAll(arrived, (id, own) => match(tx, id, own, now));
  const unmatched = rest.map(({ arrived: a, reason }) => ({ ...a, reason, retryMs: FIRST_RETRY_MS }));
  if (unmatched.length > 0) await db.insertUnmatched(tx, unmatched);
  await receiveServed(tx, receipts);
  return { parked: unmatched.length, receipts };
}

/** Keeps the receipts of accounts that are not served here for the cell where they are, and receives the others. */
async function receiveServed(tx: PoolClient, receipts: readonly MatchedReceipt[]): Promise<void> {
  const served = await keepForOthers(tx, 'receipt', receipts, ({ receipt }) => db.receiptsJson([receipt]));
  if (served.length > 0) await receiveReceipts(tx, served);
}

type Left = {
  /** Called when parked receipts are to be tried again soon. */
  readonly onParked?: () => void;
  /** Called with the error that keeps receipts from being settled. They stay parked. */
  readonly onFailure?: (error: unknown) => void;
  readonly onMatched?: OnMatched | undefined;
};

/**
 * Processes the inbox, which holds receipts that could not be settled when they arrived: takes batches and settles
 * their receipts in one transaction. When that fails, it tries the oldest batch alone, and parks its receipts when that
 * fails too, so that a receipt which cannot be processed holds up no others.
 *
 * @returns the number of receipts
 */
export async function processReceipts(pool: Pool, now: () => Date, left: Left = {}): Promise<number> {
  const { count, parked, receipts } = await processBatches(pool, now, MAX_BATCHES)
    .catch(() => processBatches(pool, now, 1))
    .catch((error: unknown) => parkOldestBatch(pool).finally(() => left.onFailure?.(error)));
  if (parked > 0) left.onParked?.();
  left.onMatched?.(receipts);
  return count;
}

type Processed = Settled & { readonly count: number };

function processBatches(pool: Pool, now: () => Date, limit: number): Promise<Processed> {
  return repeatedTransaction(pool, async (tx) => {
    const arrived = arrivedIn(await db.deleteReceiptBatches(tx, limit));
    return { count: arrived.length, ...(await settle(tx, arrived, now())) };
  });
}

function parkOldestBatch(pool: Pool): Promise<Processed> {
  return repeatedTransaction(pool, async (tx) => {
    const arrived = arrivedIn(await db.deleteReceiptBatches(tx, 1));
    const rows = arrived.map((a) => ({ ...a, reason: 'unknown' as const, retryMs: FIRST_RETRY_MS }));
    if (rows.length > 0) await db.insertUnmatched(tx, rows);
    return { count: rows.length, parked: rows.length, receipts: [] };
  });
}

const arrivedIn = (batches: readonly db.ReceiptBatch[]): Arrived[] =>
  batches.flatMap(({ receipts, connectionId, receivedAt }) =>
    receipts.map((receipt) => ({ connectionId, receipt, receivedAt })),
  );

/**
 * Retries the parked receipts that are due: a receipt may arrive before the response to its submit is recorded. When
 * that fails, it tries fewer, and in the end only the one that has been due longest, which is postponed when it fails.
 *
 * @returns the number of receipts
 */
export function retryUnmatched(pool: Pool, now: () => Date, left: Left = {}, limit = MAX_PARKED): Promise<number> {
  return retryOldest(pool, now, limit).then(
    ({ count, receipts }) => {
      left.onMatched?.(receipts);
      return count;
    },
    (error: unknown) =>
      limit > 1
        ? retryUnmatched(pool, now, left, Math.ceil(limit / FEWER))
        : postponeOldest(pool).finally(() => left.onFailure?.(error)),
  );
}

function retryOldest(pool: Pool, now: () => Date, limit: number): Promise<Omit<Processed, 'parked'>> {
  return repeatedTransaction(pool, async (tx) => {
    const parked = await db.claimUnmatched(tx, limit);
    const { found, receipts, rest } = await matchAll(parked, (id, own) => matchWithUnknowns(tx, id, own, now()));
    const foundIds = found.map(({ id }) => id);
    if (foundIds.length > 0) await db.deleteUnmatched(tx, foundIds);
    const later = rest.map(({ arrived: { id }, reason }) => ({ id, reason }));
    if (later.length > 0) await db.updateUnmatchedRetry(tx, later);
    await receiveServed(tx, receipts);
    return { count: parked.length, receipts };
  });
}

function postponeOldest(pool: Pool): Promise<number> {
  return repeatedTransaction(pool, async (tx) => {
    const parked = await db.claimUnmatched(tx, 1);
    if (parked.length > 0) await db.updateUnmatchedRetry(tx, parked);
    return parked.length;
  });
}

type Matcher = (connectionId: number, arrived: readonly Arrived[]) => Promise<Match[]>;

/** Matches receipts of any connections. */
async function matchAll<A extends Arrived>(arrived: readonly A[], matcher: Matcher): Promise<Matched<A>> {
  const result: Matched<A> = { found: [], receipts: [], rest: [] };
  for (const [connectionId, own] of Map.groupBy(arrived, (a) => a.connectionId)) {
    const matches = await matcher(connectionId, own);
    own.forEach((a, i) => addMatch(a, matches[i] ?? { kind: 'unknown' }, result));
  }
  return result;
}

const match = (tx: PoolClient, connectionId: number, arrived: readonly Arrived[], now: Date): Promise<Match[]> =>
  matchReceipts(
    tx,
    connectionId,
    arrived.map((a) => a.receipt),
    now,
  );

/** Matches receipts; one whose id fits no message may belong to a submit that was never answered. */
async function matchWithUnknowns(
  tx: PoolClient,
  connectionId: number,
  arrived: readonly Arrived[],
  now: Date,
): Promise<Match[]> {
  const matches = await match(tx, connectionId, arrived, now);
  const strays = arrived.filter((_, i) => matches[i]?.kind === 'unknown');
  if (strays.length === 0) return matches;
  const resolved = await matchUnknowns(tx, connectionId, strays, async () =>
    (await match(tx, connectionId, strays, now)).map(({ kind }) => kind === 'unknown'),
  );
  let next = 0;
  return matches.map((one) => (one.kind === 'unknown' ? (resolved[next++] ?? one) : one));
}

function addMatch<A extends Arrived>(arrived: A, found: Match, result: Matched<A>): void {
  if (found.kind !== 'hit') return void result.rest.push({ arrived, reason: found.kind });
  const { accountId, messageId, part } = found;
  const { connectionId, receivedAt, receipt } = arrived;
  result.found.push(arrived);
  result.receipts.push({ accountId, messageId, part, connectionId, receivedAt, receipt });
}
