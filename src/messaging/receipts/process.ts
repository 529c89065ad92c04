import type { Pool, PoolClient } from 'pg';
import type { Receipt } from '../../carriers/events.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { type MatchedReceipt, receiveReceipts } from '../messages/receive-receipt.ts';
import { matchUnknowns } from '../unknown-outcomes/match-unknowns.ts';
import { type Match, matchReceipts } from './match.ts';
import { createRecentBatches, type RecentBatches } from './recent.ts';
import * as db from './sql.ts';

const MAX_BATCHES = 8;
const MAX_PARKED = 1000;
const FIRST_RETRY_MS = 100;

type Arrived = { readonly connectionId: number; readonly receipt: Receipt; readonly receivedAt: Date };
/** Receipts divided into those that matched a message and the others with the reason. */
type Matched<A extends Arrived> = {
  readonly found: A[];
  readonly rest: { readonly arrived: A; readonly reason: db.Unmatched['reason'] }[];
};

/**
 * Processes the inbox: takes batches, matches their receipts, moves the messages, and parks receipts that match none,
 * in one transaction.
 *
 * @param options.recent batches that need not be read again
 * @param options.onParked called when parked receipts are to be tried again soon
 * @returns the number of receipts
 */
export async function processReceipts(
  pool: Pool,
  now: () => Date,
  { recent = createRecentBatches(), onParked }: { recent?: RecentBatches; onParked?: () => void } = {},
): Promise<number> {
  const { taken, count, parked } = await transaction(pool, async (tx) => {
    const batches = await db.deleteReceiptBatches(tx, MAX_BATCHES, recent.batches());
    const arrived = batches.flatMap(({ receipts, connectionId, receivedAt }) =>
      receipts.map((receipt) => ({ connectionId, receipt, receivedAt })),
    );
    const { rest } = await matchAndMove(tx, arrived, (id, own) => match(tx, id, own, now()));
    const unmatched = rest.map(({ arrived: a, reason }) => ({ ...a, reason, retryMs: FIRST_RETRY_MS }));
    if (unmatched.length > 0) await db.insertUnmatched(tx, unmatched);
    return { taken: batches.map(({ id }) => id), count: arrived.length, parked: unmatched.length };
  });
  recent.forget(taken);
  if (parked > 0) onParked?.();
  return count;
}

/**
 * Retries the parked receipts that are due: a receipt may arrive before the response to its submit is recorded.
 *
 * @returns the number of receipts
 */
export function retryUnmatched(pool: Pool, now: () => Date): Promise<number> {
  return transaction(pool, async (tx) => {
    const parked = await db.claimUnmatched(tx, MAX_PARKED);
    const { found, rest } = await matchAndMove(tx, parked, (id, own) => matchWithUnknowns(tx, id, own, now()));
    const foundIds = found.map(({ id }) => id);
    if (foundIds.length > 0) await db.deleteUnmatched(tx, foundIds);
    const later = rest.map(({ arrived: { id }, reason }) => ({ id, reason }));
    if (later.length > 0) await db.updateUnmatchedRetry(tx, later);
    return parked.length;
  });
}

type Matcher = (connectionId: number, arrived: readonly Arrived[]) => Promise<Match[]>;

/** Matches receipts of any connections and moves their messages. */
async function matchAndMove<A extends Arrived>(
  tx: PoolClient,
  arrived: readonly A[],
  matcher: Matcher,
): Promise<Matched<A>> {
  const result: Matched<A> = { found: [], rest: [] };
  const receipts: MatchedReceipt[] = [];
  for (const [connectionId, own] of Map.groupBy(arrived, (a) => a.connectionId)) {
    const matches = await matcher(connectionId, own);
    own.forEach((a, i) => addMatch(a, matches[i] ?? { kind: 'unknown' }, result, receipts));
  }
  if (receipts.length > 0) await receiveReceipts(tx, receipts);
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

function addMatch<A extends Arrived>(arrived: A, found: Match, result: Matched<A>, receipts: MatchedReceipt[]): void {
  if (found.kind !== 'hit') return void result.rest.push({ arrived, reason: found.kind });
  const { accountId, messageId, part } = found;
  const { connectionId, receivedAt, receipt } = arrived;
  result.found.push(arrived);
  receipts.push({ accountId, messageId, part, connectionId, receivedAt, receipt });
}
