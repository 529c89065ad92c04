import type { Pool, PoolClient } from 'pg';
import { transaction } from '../db/transaction.ts';
import { type MatchedReceipt, receiveReceipts } from '../messages/receive-receipt.ts';
import { type Match, matchReceipts } from './match.ts';
import * as db from './sql.ts';

const BATCHES = 8;
const PARKED = 1000;
const FIRST_RETRY_MS = 100;

type Arrived = { readonly connectionId: number; readonly receipt: db.StoredReceipt; readonly receivedAt: Date };
type Judged<A extends Arrived> = { readonly arrived: A; readonly match: Match };

/**
 * Works off the inbox: takes batches, matches them, moves the messages and parks what fits none, in one transaction.
 *
 * @returns how many receipts were taken
 */
export function processReceipts(pool: Pool, now: () => Date): Promise<number> {
  return transaction(pool, async (tx) => {
    const batches = await db.deleteReceiptBatches(tx, BATCHES);
    const arrived = batches.flatMap(({ connectionId, receivedAt, receipts }) =>
      receipts.map((receipt) => ({ connectionId, receipt, receivedAt })),
    );
    const judged = await judge(tx, arrived, now());
    const rest = judged.filter(({ match }) => match.kind !== 'hit');
    if (rest.length > 0) await db.insertUnmatched(tx, rest.map(toUnmatched));
    return arrived.length;
  });
}

/**
 * Tries parked receipts again whose time has come: a receipt may arrive before the answer to its submit is recorded.
 *
 * @returns how many were tried
 */
export function retryUnmatched(pool: Pool, now: () => Date): Promise<number> {
  return transaction(pool, async (tx) => {
    const parked = await db.claimUnmatched(tx, PARKED);
    const judged = await judge(tx, parked, now());
    const found = judged.filter(({ match }) => match.kind === 'hit').map(({ arrived }) => arrived.id);
    if (found.length > 0) await db.deleteUnmatched(tx, found);
    const rest = judged.flatMap(({ arrived, match }) =>
      match.kind === 'hit' ? [] : [{ id: arrived.id, reason: match.kind }],
    );
    if (rest.length > 0) await db.moveUnmatchedLater(tx, rest);
    return parked.length;
  });
}

/** Matches receipts of any connections and moves the messages that they fit. */
async function judge<A extends Arrived>(tx: PoolClient, arrived: readonly A[], now: Date): Promise<Judged<A>[]> {
  const judged: Judged<A>[] = [];
  for (const connectionId of new Set(arrived.map((a) => a.connectionId))) {
    const own = arrived.filter((a) => a.connectionId === connectionId);
    const matches = await matchReceipts(
      tx,
      connectionId,
      own.map((a) => a.receipt),
      now,
    );
    own.forEach((a, i) => judged.push({ arrived: a, match: matches[i] as Match }));
  }
  const matched = judged.flatMap(({ arrived: a, match }) => (match.kind === 'hit' ? [toMatched(a, match)] : []));
  if (matched.length > 0) await receiveReceipts(tx, matched);
  return judged;
}

function toMatched({ connectionId, receipt, receivedAt }: Arrived, match: Match & { kind: 'hit' }): MatchedReceipt {
  const { accountId, messageId, part } = match;
  return {
    accountId,
    messageId,
    part,
    connectionId,
    receivedAt,
    receipt: { ...receipt, doneAt: doneAtOf(receipt, receivedAt) },
  };
}

const MINUTE_MS = 60_000;

/** Most receipts tell the minute only: for one that came within that minute, its arrival is the better time. */
function doneAtOf({ doneAt }: db.StoredReceipt, receivedAt: Date): Date | null {
  if (doneAt === null) return null;
  const done = new Date(doneAt);
  const lateMs = receivedAt.getTime() - done.getTime();
  return done.getTime() % MINUTE_MS === 0 && lateMs >= 0 && lateMs < MINUTE_MS ? receivedAt : done;
}

const toUnmatched = ({ arrived: { connectionId, receipt, receivedAt }, match }: Judged<Arrived>) => ({
  connectionId,
  receipt,
  receivedAt,
  reason: match.kind === 'ambiguous' ? ('ambiguous' as const) : ('unknown' as const),
  retryMs: FIRST_RETRY_MS,
});
