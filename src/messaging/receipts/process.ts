import type { Pool, PoolClient } from 'pg';
import type { Receipt } from '../../carriers/events.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { type MatchedReceipt, receiveReceipts } from '../messages/receive-receipt.ts';
import { matchUnknowns } from '../unknown-outcomes/match-unknowns.ts';
import { type Match, matchReceipts } from './match.ts';
import { createRecentBatches, type RecentBatches } from './recent.ts';
import * as db from './sql.ts';

const BATCHES = 8;
const PARKED = 1000;
const FIRST_RETRY_MS = 100;

type Arrived = { readonly connectionId: number; readonly receipt: Receipt; readonly receivedAt: Date };
/** What became of receipts: those that moved their messages, and the others with the reason. */
type Judged<A extends Arrived> = {
  readonly found: A[];
  readonly rest: { readonly arrived: A; readonly reason: db.Unmatched['reason'] }[];
};

/**
 * Works off the inbox: takes batches, matches them, moves the messages and parks what fits none, in one transaction.
 *
 * @param options.recent batches that need not be read again
 * @param options.onParked called when receipts are there to be tried again soon
 * @returns how many receipts were taken
 */
export async function processReceipts(
  pool: Pool,
  now: () => Date,
  { recent = createRecentBatches(), onParked }: { recent?: RecentBatches; onParked?: () => void } = {},
): Promise<number> {
  const { taken, count, parked } = await transaction(pool, async (tx) => {
    const batches = await db.deleteReceiptBatches(tx, BATCHES, recent.batches());
    const arrived = batches.flatMap(({ receipts, connectionId, receivedAt }) =>
      receipts.map((receipt) => ({ connectionId, receipt, receivedAt })),
    );
    const { rest } = await judge(tx, arrived, (id, own) => match(tx, id, own, now()));
    const unmatched = rest.map(({ arrived: a, reason }) => ({ ...a, reason, retryMs: FIRST_RETRY_MS }));
    if (unmatched.length > 0) await db.insertUnmatched(tx, unmatched);
    return { taken: batches.map(({ id }) => id), count: arrived.length, parked: unmatched.length };
  });
  recent.forget(taken);
  if (parked > 0) onParked?.();
  return count;
}

/**
 * Tries parked receipts again whose time has come: a receipt may arrive before the answer to its submit is recorded.
 *
 * @returns how many were tried
 */
export function retryUnmatched(pool: Pool, now: () => Date): Promise<number> {
  return transaction(pool, async (tx) => {
    const parked = await db.claimUnmatched(tx, PARKED);
    const { found, rest } = await judge(tx, parked, (id, own) => matchOrName(tx, id, own, now()));
    const foundIds = found.map(({ id }) => id);
    if (foundIds.length > 0) await db.deleteUnmatched(tx, foundIds);
    const later = rest.map(({ arrived: { id }, reason }) => ({ id, reason }));
    if (later.length > 0) await db.updateUnmatchedRetry(tx, later);
    return parked.length;
  });
}

type Matcher = (connectionId: number, arrived: readonly Arrived[]) => Promise<Match[]>;

/** Matches receipts of any connections and moves the messages that they fit. */
async function judge<A extends Arrived>(tx: PoolClient, arrived: readonly A[], matcher: Matcher): Promise<Judged<A>> {
  const judged: Judged<A> = { found: [], rest: [] };
  const matched: MatchedReceipt[] = [];
  for (const [connectionId, own] of Map.groupBy(arrived, (a) => a.connectionId)) {
    const matches = await matcher(connectionId, own);
    own.forEach((a, i) => sort(a, matches[i] ?? { kind: 'unknown' }, judged, matched));
  }
  if (matched.length > 0) await receiveReceipts(tx, matched);
  return judged;
}

const match = (tx: PoolClient, connectionId: number, arrived: readonly Arrived[], now: Date): Promise<Match[]> =>
  matchReceipts(
    tx,
    connectionId,
    arrived.map((a) => a.receipt),
    now,
  );

/** What fits no message by its id may be the receipt of a submit that was never answered. */
async function matchOrName(
  tx: PoolClient,
  connectionId: number,
  arrived: readonly Arrived[],
  now: Date,
): Promise<Match[]> {
  const matches = await match(tx, connectionId, arrived, now);
  const strays = arrived.filter((_, i) => matches[i]?.kind === 'unknown');
  if (strays.length === 0) return matches;
  const named = await matchUnknowns(tx, connectionId, strays, async () =>
    (await match(tx, connectionId, strays, now)).map(({ kind }) => kind === 'unknown'),
  );
  let next = 0;
  return matches.map((one) => (one.kind === 'unknown' ? (named[next++] ?? one) : one));
}

function sort<A extends Arrived>(arrived: A, found: Match, judged: Judged<A>, matched: MatchedReceipt[]): void {
  if (found.kind !== 'hit') return void judged.rest.push({ arrived, reason: found.kind });
  const { accountId, messageId, part } = found;
  const { connectionId, receivedAt, receipt } = arrived;
  judged.found.push(arrived);
  matched.push({ accountId, messageId, part, connectionId, receivedAt, receipt });
}
