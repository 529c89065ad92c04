import type { Pool } from 'pg';
import { every, type Task } from '../core/background.ts';
import { bigint, rowsOf, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { isFinal, STATUS } from '../core/message-state.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { deleteExpiredCodes } from '../messages/codes.ts';
import { type Addition, addToCounters, deleteOldCounters } from './counters.ts';
import { endVerification } from './ending.ts';
import { keysOf } from './guard.ts';
import { findPlainSend, learnedOf } from './plain-sends.ts';
import * as db from './store.ts';

const BATCH = 500;
/**
 * Messages that have no final state by then are not followed any longer, and young ones every second instead of every
 * minute: most receipts come within seconds, and 144,000 messages without one took 1.4 s of the database. At 200 codes a
 * second those of a minute are 12,000.
 */
const FOLLOW_MS = DAY_MS;
const YOUNG_MS = MINUTE_MS;
const COUNTERS = 10_000;

type Deps = { readonly pool: Pool; readonly now: () => Date };

/** Ends verifications that are over, deletes their codes, and learns from receipts. */
export function verifyTasks(deps: Deps): Task[] {
  return [
    { name: 'verifications', work: every(SECOND_MS, () => endVerifications(deps)) },
    { name: 'verify-receipts', work: every(MINUTE_MS, () => followAll(deps)) },
    { name: 'verify-counters', work: every(MINUTE_MS, () => deleteCounters(deps)) },
  ];
}

/** Does everything that is due about verifications. Any number of workers may do so. */
export async function endVerifications(deps: Deps): Promise<void> {
  await followMessages(deps, YOUNG_MS);
  while ((await expire(deps)) === BATCH);
  await deleteExpiredCodes(deps.pool, deps.now());
}

async function followAll(deps: Deps): Promise<void> {
  while ((await followMessages(deps, FOLLOW_MS)) === BATCH);
}

async function deleteCounters({ pool, now }: Deps): Promise<void> {
  while ((await deleteOldCounters(pool, now(), COUNTERS)) === COUNTERS);
}

function expire({ pool, now }: Deps): Promise<number> {
  return transaction(pool, async (tx) => {
    const due = await db.claimExpired(tx, now(), BATCH);
    for (const each of due) await endVerification(tx, each, 'EXPIRED', now());
    return due.length;
  });
}

const ENDED = columns({
  accountId: as<number>('m.account_id'),
  messageId: as<string>('m.message_id'),
  verificationId: as<string>('m.verification_id'),
  status: as<number>('s.status'),
});
type Ended = RowOf<typeof ENDED>;

/**
 * Takes the final states of messages with codes, up to 500; returns how many. Receipts tell an outage of a carrier from
 * codes that nobody reads, and a verification none of whose messages can arrive is UNDELIVERED.
 */
function followMessages({ pool, now }: Deps, maxAgeMs: number): Promise<number> {
  return transaction(pool, async (tx) => {
    const ended = await claimEnded(tx, new Date(now().getTime() - maxAgeMs));
    if (ended.length === 0) return 0;
    await markFollowed(tx, ended);
    const additions: Addition[] = [];
    for (const each of ended) additions.push(...(await learn(tx, each, now())));
    await addToCounters(tx, additions);
    return ended.length;
  });
}

/** Records the end of a message; returns what it adds to the counters. */
async function learn(tx: Db, { accountId, verificationId, status }: Ended, now: Date): Promise<Addition[]> {
  const isDelivered = status === STATUS.DELIVERED;
  const v = await db.findVerification(tx, { accountId, id: verificationId });
  if (!v) {
    const plain = await findPlainSend(tx, { accountId, id: verificationId });
    return plain ? [learnedOf(plain, isDelivered ? { delivered: 1 } : { failed: 1 })] : [];
  }
  if (!isDelivered && (await hasAnotherMessage(tx, { accountId, verificationId }))) return [];
  const isFirst = await recordDelivery(tx, { accountId, id: v.id, delivery: isDelivered ? 'DELIVERED' : 'FAILED' });
  if (!isDelivered) await endVerification(tx, v, 'UNDELIVERED', now);
  return isFirst ? [{ accountId, keys: keysOf(v), at: v.createdAt, [isDelivered ? 'delivered' : 'failed']: 1 }] : [];
}

const claimEnded = (tx: Db, since: Date): Promise<Ended[]> =>
  many(
    tx,
    sql`SELECT ${ENDED} FROM verification_message m
        CROSS JOIN LATERAL (
          SELECT status FROM message_state WHERE account_id = m.account_id AND id = m.message_id LIMIT 1) AS s
        WHERE NOT m.followed AND m.created_at > ${since} AND s.status = ANY(${FINAL}::smallint[])
        ORDER BY m.account_id, m.message_id LIMIT ${BATCH} FOR UPDATE OF m SKIP LOCKED`,
  );

const FINAL = `{${Object.values(STATUS)
  .filter((status) => isFinal(status))
  .join()}}`;

async function markFollowed(tx: Db, rows: readonly Ended[]): Promise<void> {
  await exec(
    tx,
    sql`UPDATE verification_message m SET followed = true
        FROM ${rowsOf(rows, { account_id: bigint((r) => r.accountId), message_id: uuid((r) => r.messageId) })} AS u
        WHERE m.account_id = u.account_id AND m.message_id = u.message_id`,
  );
}

/** True if another message of the verification may still arrive, or is about to follow. */
async function hasAnotherMessage(
  tx: Db,
  { accountId, verificationId }: Pick<Ended, 'accountId' | 'verificationId'>,
): Promise<boolean> {
  const rows = await many<{ id: string }>(
    tx,
    sql`SELECT m.message_id AS id FROM verification_message m
        WHERE m.account_id = ${accountId} AND m.verification_id = ${verificationId}
          AND (NOT m.followed OR EXISTS (SELECT FROM message_fallback f
                 WHERE f.account_id = m.account_id AND f.message_id = m.message_id))
        LIMIT 1`,
  );
  return rows.length > 0;
}

/** Records the first delivery, or the failure, of a verification. Returns false if nothing is new. */
const recordDelivery = async (
  tx: Db,
  { accountId, id, delivery }: { accountId: number; id: string; delivery: 'DELIVERED' | 'FAILED' },
): Promise<boolean> =>
  (await exec(
    tx,
    sql`UPDATE verification SET delivery = ${delivery} WHERE account_id = ${accountId} AND id = ${id} AND delivery IS NULL`,
  )) === 1;
