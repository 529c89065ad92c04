import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { endMessages } from '../messages/end.ts';
import { EXPIRED_BY_US, type StateMove } from '../messages/sql.ts';
import { isFinal, STATUS } from '../states.ts';
import * as db from './sql.ts';
import { withdrawFromQueue } from './withdraw.ts';
import { GIVE_UP_AFTER_MS } from '../messages/validity.ts';
import { MINUTE_MS, SECOND_MS } from '../../platform/lib/time.ts';

const BATCH_SIZE = 1000;
const DEADLINE_ROWS_PER_BATCH = 4;
/** Window of a check: at 50,000 messages a second it has half a million of them, most with a final state. */
const WINDOW_MS = 10 * SECOND_MS;
const MAX_QUEUED = 10 * BATCH_SIZE;

/**
 * Ends messages without a final state as EXPIRED, in the caller's transaction: those that still wait are withdrawn from
 * the queue, those with a carrier are given up. Messages that a carrier accepted without a requested receipt are
 * unchanged, because nothing more will be reported on them.
 *
 * @returns the messages that are being submitted at this moment: their outcome has to be recorded first
 */
async function expireMessages(tx: Db, keys: readonly db.Key[], now: Date): Promise<db.Key[]> {
  const withdrawn = await withdrawFromQueue(tx, keys);
  const open = (await db.listDeliveryStates(tx, keys)).filter(({ status }) => status === null || !isFinal(status));
  const wasWaiting = ({ id }: db.DeliveryState): boolean => withdrawn.has(id);
  const withCarrier = open.filter((state) => !wasWaiting(state) && state.submittedAt !== null);
  const silent = withCarrier.filter(({ status, wantReceipt }) => wantReceipt || status === STATUS.UNKNOWN);
  await endMessages(tx, [
    ...open.filter(wasWaiting).map((key) => toExpired(key, now, 'not sent within its validity')),
    ...silent.map((key) => toExpired(key, now, 'no final receipt within its validity')),
  ]);
  return open.filter((state) => !wasWaiting(state) && state.submittedAt === null);
}

const toExpired = ({ accountId, id }: db.Key, doneAt: Date, errorText: string): StateMove => ({
  accountId,
  id,
  status: STATUS.EXPIRED,
  doneAt,
  errorCode: EXPIRED_BY_US,
  errorText,
});

/** Ends messages as EXPIRED, and gives those that are being submitted a new deadline in a minute. */
async function expireOrPostpone(tx: Db, keys: readonly db.Key[], now: Date): Promise<void> {
  const later = await expireMessages(tx, keys, now);
  const dueAt = new Date(now.getTime() + MINUTE_MS);
  const byAccount = Map.groupBy(later, (key) => key.accountId);
  if (later.length === 0) return;
  await db.insertDeadlines(
    tx,
    [...byAccount].map(([accountId, own]) => ({ accountId, dueAt, ids: own.map((key) => key.id) })),
  );
}

/**
 * Gives up messages whose deadline has come: those with their own validity or schedule. The deadlines are rows that
 * workers claim, so any worker may do this at any time and a restart loses none.
 *
 * @returns how many rows of deadlines were processed
 */
export function expireDeadlines(pool: Pool, now: () => Date): Promise<number> {
  return transaction(pool, async (tx) => {
    const due = await db.deleteDueDeadlines(tx, DEADLINE_ROWS_PER_BATCH);
    const keys = due.flatMap(({ accountId, ids }) => ids.map((id) => ({ accountId, id })));
    if (keys.length > 0) await expireOrPostpone(tx, keys, now());
    return due.length;
  });
}

/**
 * Gives up messages of the default validity. Each call checks those accepted within the ten seconds that follow the
 * range of the call before. So no message needs its own deadline, which would add to the cost of accepting it.
 *
 * @returns how long it is until the next call has messages to check, in ms
 */
export async function expireDefaultValidity(pool: Pool, now: () => Date): Promise<number> {
  const from = await db.findExpiryProgress(pool);
  const to = new Date(from.getTime() + WINDOW_MS);
  const waitMs = to.getTime() + GIVE_UP_AFTER_MS - now().getTime();
  if (waitMs > 0) return waitMs;
  const keys = await db.listOpenMessages(pool, { firstId: firstIdAt(from), endId: firstIdAt(to) });
  await inBatches(pool, keys, now());
  await db.updateExpiryProgress(pool, { from, to });
  return 0;
}

/**
 * Gives up messages of the default validity that have waited in the queue until its end because their connection is
 * down.
 *
 * @returns how many messages were found, at most 10,000 per call
 */
export async function expireQueued(pool: Pool, now: () => Date): Promise<number> {
  const endId = firstIdAt(new Date(now().getTime() - GIVE_UP_AFTER_MS));
  const keys = await db.listOldQueued(pool, { endId }, MAX_QUEUED);
  await inBatches(pool, keys, now());
  return keys.length;
}

/**
 * Expires messages in a transaction per batch, because the balances are locked from the end of a batch to its commit.
 */
async function inBatches(pool: Pool, keys: readonly db.Key[], now: Date): Promise<void> {
  for (let i = 0; i < keys.length; i += BATCH_SIZE)
    await transaction(pool, (tx) => expireOrPostpone(tx, keys.slice(i, i + BATCH_SIZE), now));
}
