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

const BATCH = 1000;
const DEADLINES = 4;
/** At 50,000 messages a second it holds half a million of them, and most of those have their end. */
const WINDOW_MS = 10 * SECOND_MS;
/** Of 1,000 messages each; so many are read at a time. */
const QUEUED = 10 * BATCH;

/**
 * Ends messages as EXPIRED that have no end yet, in the caller's transaction: taken back from the queue, or given up
 * with the carrier. Those that asked for no receipt and were accepted stay so: nothing more is heard of them.
 *
 * @returns those that a carrier is just being given: their answer has to be recorded first
 */
async function expireMessages(tx: Db, keys: readonly db.Key[], now: Date): Promise<db.Key[]> {
  const takenBack = await withdrawFromQueue(tx, keys);
  const open = (await db.listDeliveryStates(tx, keys)).filter(({ status }) => status === null || !isFinal(status));
  const isWaiting = ({ id }: db.DeliveryState): boolean => takenBack.has(id);
  const withCarrier = open.filter((standing) => !isWaiting(standing) && standing.submittedAt !== null);
  const silent = withCarrier.filter(({ status, wantReceipt }) => wantReceipt || status === STATUS.UNKNOWN);
  await endMessages(tx, [
    ...open.filter(isWaiting).map((key) => toExpired(key, now, 'not sent within its validity')),
    ...silent.map((key) => toExpired(key, now, 'no final receipt within its validity')),
  ]);
  return open.filter((standing) => !isWaiting(standing) && standing.submittedAt === null);
}

const toExpired = ({ accountId, id }: db.Key, doneAt: Date, errorText: string): StateMove => ({
  accountId,
  id,
  status: STATUS.EXPIRED,
  doneAt,
  errorCode: EXPIRED_BY_US,
  errorText,
});

async function expireOrPutOff(tx: Db, keys: readonly db.Key[], now: Date): Promise<void> {
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
 * Gives up the messages whose deadline has come: those with a validity or a schedule of their own. Durable and claimed
 * by rows, so that any worker may do it at any time and a restart loses none.
 *
 * @returns how many rows of deadlines were worked off
 */
export function expireDeadlines(pool: Pool, now: () => Date): Promise<number> {
  return transaction(pool, async (tx) => {
    const due = await db.deleteDueDeadlines(tx, DEADLINES);
    const keys = due.flatMap(({ accountId, ids }) => ids.map((id) => ({ accountId, id })));
    if (keys.length > 0) await expireOrPutOff(tx, keys, now());
    return due.length;
  });
}

/**
 * Gives up the messages of the usual validity: looks through those that were accepted in the next ten seconds after the
 * ones that it looked through before. They need no note each, which would cost every message on its way in.
 *
 * @returns how long until there is more to look through, in ms
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
 * Gives up the messages of the usual validity that have waited in the queue for all of it: their connection is away.
 *
 * @returns how many there were
 */
export async function expireQueued(pool: Pool, now: () => Date): Promise<number> {
  const endId = firstIdAt(new Date(now().getTime() - GIVE_UP_AFTER_MS));
  const keys = await db.listOldQueued(pool, { endId }, QUEUED);
  await inBatches(pool, keys, now());
  return keys.length;
}

/** A transaction each: the balances stay locked from the end of one batch to its commit. */
async function inBatches(pool: Pool, keys: readonly db.Key[], now: Date): Promise<void> {
  for (let i = 0; i < keys.length; i += BATCH)
    await transaction(pool, (tx) => expireOrPutOff(tx, keys.slice(i, i + BATCH), now));
}
