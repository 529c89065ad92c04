import type { Pool } from 'pg';
import { isServedHere } from '../accounts/accounts.ts';
import { type Task, untilIdle, whenDue } from '../core/background.ts';
import { bigint, input, insertRows, text, timestamptz } from '../core/db/columns.ts';
import {
  as,
  columns,
  constant,
  type Db,
  exec,
  many,
  one,
  onePlan,
  plainArray,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { boundsOf, firstIdAt } from '../core/ids.ts';
import { isFinal, OPEN_STATES, STATUS } from '../core/message-state.ts';
import { MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { withdrawMessages } from '../dispatch/commit.ts';
import { endMessages } from './end.ts';
import { deadlineOf, GIVE_UP_AFTER_MS } from './load.ts';
import { listPartStatuses } from './parts.ts';
import { bitSql, EXPIRED_BY_US, messagesByKey, type StateMove } from './store.ts';

type Accepted = {
  readonly accountId: number;
  readonly id: string;
  readonly validUntil: Date | null;
  readonly scheduledAt: Date | null;
  readonly simulation: boolean;
};

const MAX_IDS_PER_ROW = 1000;

/**
 * Makes the deadlines of new messages. They are rounded up to a second, so that the messages of one request share rows.
 */
export function deadlinesOf(messages: readonly Accepted[]): NewDeadline[] {
  const rows = new Map<string, { accountId: number; dueAt: Date; ids: string[] }>();
  const full: NewDeadline[] = [];
  for (const message of messages) {
    const deadline = message.simulation ? null : deadlineOf(message);
    if (deadline === null) continue;
    const seconds = Math.ceil(deadline.getTime() / SECOND_MS);
    const key = `${message.accountId}/${seconds}`;
    const row = rows.get(key) ?? { accountId: message.accountId, dueAt: new Date(seconds * SECOND_MS), ids: [] };
    row.ids.push(message.id);
    rows.set(key, row);
    if (row.ids.length < MAX_IDS_PER_ROW) continue;
    full.push(row);
    rows.delete(key);
  }
  return [...full, ...rows.values()];
}

const BATCH_SIZE = 1000;
const DEADLINE_ROWS_PER_BATCH = 4;
/** Window of a check: at 50,000 messages a second it has half a million of them, most with a final state. */
const WINDOW_MS = 10 * SECOND_MS;
const MAX_QUEUED = 10 * BATCH_SIZE;

/**
 * Ends messages without a final state, in the caller's transaction, as EXPIRED: those that still wait are withdrawn from
 * the queue, those with a carrier are given up. Long messages that were delivered in part end as DELIVERED. Messages that a carrier accepted without a requested receipt are
 * unchanged, because nothing more will be reported on them.
 *
 * @returns the messages that are being submitted at this moment: their outcome has to be recorded first
 */
async function expireMessages(tx: Db, keys: readonly Key[], now: Date): Promise<Key[]> {
  const withdrawn = await withdrawFromQueue(tx, keys);
  const open = (await listDeliveryStates(tx, keys)).filter(({ status }) => status === null || !isFinal(status));
  const wasWaiting = ({ id }: DeliveryState): boolean => withdrawn.has(id);
  const withCarrier = open.filter((state) => !wasWaiting(state) && state.submittedAt !== null);
  const silent = withCarrier.filter(({ status, wantReceipt }) => wantReceipt || status === STATUS.UNKNOWN);
  const delivered = await listDelivered(tx, silent);
  const lost = silent.filter(({ id }) => !delivered.some((move) => move.id === id));
  await endMessages(tx, [
    ...open.filter(wasWaiting).map((key) => toExpired(key, now, 'not sent within its validity')),
    ...lost.map((key) => toExpired(key, now, 'no final receipt within its validity')),
    ...delivered,
  ]);
  return open.filter((state) => !wasWaiting(state) && state.submittedAt === null);
}

/**
 * Returns the moves of long messages whose parts were all accepted, and of which a part was delivered: many carriers
 * report a long text once. A part that failed would have ended the message.
 */
async function listDelivered(tx: Db, keys: readonly Key[]): Promise<StateMove[]> {
  if (keys.length === 0) return [];
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  const own = keys.map(({ accountId, id: messageId }) => ({ accountId, messageId }));
  const messages = await listPartStatuses(tx, { keys: own, firstId, lastId });
  return messages
    .filter(({ statuses, parts }) => statuses.length === parts && statuses.includes(STATUS.DELIVERED))
    .map(({ accountId, messageId: id, doneAt }) => ({
      accountId,
      id,
      status: STATUS.DELIVERED,
      doneAt,
      errorCode: null,
      errorText: null,
      isReported: true,
    }));
}

const toExpired = ({ accountId, id }: Key, doneAt: Date, errorText: string): StateMove => ({
  accountId,
  id,
  status: STATUS.EXPIRED,
  doneAt,
  errorCode: EXPIRED_BY_US,
  errorText,
});

/** Ends messages as EXPIRED, and gives those that are being submitted a new deadline in a minute. */
async function expireOrPostpone(tx: Db, keys: readonly Key[], now: Date): Promise<void> {
  const later = await expireMessages(tx, keys, now);
  const dueAt = new Date(now.getTime() + MINUTE_MS);
  const byAccount = Map.groupBy(later, (key) => key.accountId);
  if (later.length === 0) return;
  await insertDeadlines(
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
    const due = await deleteDueDeadlines(tx, DEADLINE_ROWS_PER_BATCH);
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
  const from = await findExpiryProgress(pool);
  const to = new Date(from.getTime() + WINDOW_MS);
  const waitMs = to.getTime() + GIVE_UP_AFTER_MS - now().getTime();
  if (waitMs > 0) return waitMs;
  const keys = await listOpenMessages(pool, { firstId: firstIdAt(from), endId: firstIdAt(to) });
  await inBatches(pool, keys, now());
  await updateExpiryProgress(pool, { from, to });
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
  const keys = await listOldQueued(pool, { endId }, MAX_QUEUED);
  await inBatches(pool, keys, now());
  return keys.length;
}

/**
 * Expires messages in a transaction per batch, because the balances are locked from the end of a batch to its commit.
 */
async function inBatches(pool: Pool, keys: readonly Key[], now: Date): Promise<void> {
  for (let i = 0; i < keys.length; i += BATCH_SIZE)
    await transaction(pool, (tx) => expireOrPostpone(tx, keys.slice(i, i + BATCH_SIZE), now));
}

/**
 * Withdraws messages that no carrier has seen from the queue and gives them an open state. The caller moves it to a
 * final state in the same transaction, which returns their credit.
 *
 * @returns the ids of the messages that were withdrawn
 */
export async function withdrawFromQueue(tx: Db, keys: readonly Key[]): Promise<Set<string>> {
  const waiting = await withdrawMessages(tx, keys);
  if (waiting.size > 0)
    await insertOpenStates(
      tx,
      keys.filter((key) => waiting.has(key.id)),
    );
  return waiting;
}

/** Ends messages whose validity is over while their carrier is silent, or that were not sent in time. */
export const expiryTasks = ({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] => [
  {
    name: 'deadlines',
    pausable: true,
    work: whenDue(
      () => expireDeadlines(pool, now),
      () => findNextDeadlineMs(pool),
      5 * SECOND_MS,
    ),
  },
  {
    name: 'usual validity',
    pausable: true,
    work: () => expireDefaultValidity(pool, now).then((waitMs) => Math.min(waitMs, MINUTE_MS)),
  },
  { name: 'old in the queue', pausable: true, work: untilIdle(() => expireQueued(pool, now), 10 * MINUTE_MS) },
];

/** A deadline of messages of one account, after which they are given up. */
export type NewDeadline = { readonly accountId: number; readonly dueAt: Date; readonly ids: readonly string[] };

export async function insertDeadlines(db: Db, deadlines: readonly NewDeadline[]): Promise<void> {
  await exec(
    db,
    onePlan(
      insertRows(
        'message_deadline',
        deadlines.map((deadline) => ({ ...deadline, ids: plainArray(deadline.ids) })),
        { accountId: bigint, dueAt: timestamptz, ids: input(text) },
        { ids: sql`u.ids::uuid[]` },
      ),
    ),
  );
}

/** Deletes the deadline of one message, whose time has changed. */
export async function deleteDeadline(
  db: Db,
  { accountId, id, dueAt }: { accountId: number; id: string; dueAt: Date },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE message_deadline SET ids = array_remove(ids, ${id}::uuid)
        WHERE account_id = ${accountId} AND due_at = ${dueAt} AND ${id}::uuid = ANY(ids)`,
  );
}

/** Takes the oldest `limit` deadlines whose time has come. They are deleted when the caller's transaction commits. */
async function deleteDueDeadlines(db: Db, limit: number): Promise<{ accountId: number; ids: string[] }[]> {
  const rows = await many<{ accountId: number; ids: string }>(
    db,
    sql`DELETE FROM message_deadline WHERE id IN (
          SELECT id FROM message_deadline WHERE due_at <= now() ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING account_id AS "accountId", array_to_string(ids, ',') AS ids`,
  );
  return rows.map(({ accountId, ids }) => ({ accountId, ids: ids.split(',') }));
}

/** Returns how long it is until the next deadline, in ms; null when there is none. */
export async function findNextDeadlineMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM message_deadline`,
  );
  return ms;
}

/** Finds the instant up to which the messages of the default validity have been checked. */
export async function findExpiryProgress(db: Db): Promise<Date> {
  return (await one<{ doneTo: Date }>(db, sql`SELECT done_to AS "doneTo" FROM expiry_progress`)).doneTo;
}

/** Advances that instant, unless another worker has. */
export async function updateExpiryProgress(db: Db, { from, to }: { from: Date; to: Date }): Promise<void> {
  await exec(db, sql`UPDATE expiry_progress SET done_to = ${to} WHERE done_to <= ${from}`);
}

export type Key = { readonly accountId: number; readonly id: string };

const OPEN_MESSAGE = columns({ accountId: as<number>('s.account_id'), id: as<string>('s.id') });

/**
 * Lists the messages of the default validity with ids in [firstId, endId) that a carrier has, or may have, and that
 * have no final state; excludes accounts that are not served here.
 */
const listOpenMessages = (db: Db, { firstId, endId }: { firstId: string; endId: string }): Promise<Key[]> =>
  many(
    db,
    sql`SELECT ${OPEN_MESSAGE} FROM message_state s
        JOIN message m ON m.account_id = s.account_id AND m.id = s.id AND m.id >= ${firstId} AND m.id < ${endId}
        WHERE s.id >= ${firstId} AND s.id < ${endId} AND s.status IN (${OPEN_STATES})
          AND m.valid_until IS NULL AND m.scheduled_at IS NULL AND NOT m.simulation
          AND ${isServedHere(sql`s.account_id`)}
        ORDER BY s.id`,
  );

const QUEUED_MESSAGE = columns({ accountId: as<number>('old.account_id'), id: as<string>('m.id') });

/**
 * Lists the oldest messages of the default validity that were accepted before `endId` and wait in chunks which no
 * worker has claimed.
 */
const listOldQueued = (db: Db, { endId }: { endId: string }, limit: number): Promise<Key[]> =>
  many(
    db,
    sql`WITH old AS MATERIALIZED (
          SELECT account_id, ids, withdrawn FROM dispatch_chunk
          WHERE owner IS NULL AND NOT scheduled AND available_at < now() - interval '1 day' AND ids[1] < ${endId}::uuid)
        SELECT ${QUEUED_MESSAGE} FROM old CROSS JOIN unnest(old.ids) AS i (id)
        JOIN message m ON m.account_id = old.account_id AND m.id = i.id
        WHERE m.id < ${endId} AND m.valid_until IS NULL AND m.scheduled_at IS NULL
          AND (old.withdrawn IS NULL OR m.id <> ALL (old.withdrawn))
        ORDER BY m.id LIMIT ${limit}`,
  );

const DELIVERY_STATE = columns({
  accountId: as<number>('m.account_id'),
  id: as<string>('m.id'),
  /** Null before the first outcome. */
  status: as<number | null>('s.status'),
  /** Null while the message waits, also for another attempt. */
  submittedAt: as<Date | null>('s.submitted_at'),
  errorCode: as<string | null>('s.error_code'),
  wantReceipt: as<boolean>('m.want_receipt'),
});
export type DeliveryState = RowOf<typeof DELIVERY_STATE>;

/** Lists the delivery progress of these messages. Messages that no longer exist are omitted. */
export async function listDeliveryStates(db: Db, keys: readonly Key[]): Promise<DeliveryState[]> {
  if (keys.length === 0) return [];
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  return many(
    db,
    sql`SELECT ${DELIVERY_STATE}
        FROM ${messagesByKey(keys)}
        LEFT JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id
          AND s.id BETWEEN ${firstId} AND ${lastId}`,
  );
}

/**
 * Gives messages that were withdrawn from the queue the state ACCEPTED, which can be moved to a final one. Messages
 * that were tried before have a state already and keep it.
 */
export async function insertOpenStates(db: Db, keys: readonly Key[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at, credit_held, channel, campaign_id)
        SELECT u.account_id, u.id, ${constant(STATUS.ACCEPTED)}, 0, now(), true,
               ${bitSql(sql`m.channel`)}, m.campaign_id
        FROM ${messagesByKey(keys)}
        ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO NOTHING`,
  );
}
