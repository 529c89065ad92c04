import { plainArray } from '../db/array.ts';
import { bigint, int, rowsOf, smallint, text, timestamptz } from '../db/columns.ts';
import { type Db, exec, many, sql } from '../db/query.ts';

export type NewChunk = {
  readonly accountId: number;
  readonly connectionId: number;
  readonly priority: number;
  /** Not before; null is at once. */
  readonly availableAt: Date | null;
  readonly ids: readonly string[];
};

export type Chunk = {
  id: number;
  accountId: number;
  priority: number;
  round: number;
  attempt: number;
  intent: number;
  ids: string[];
};

/**
 * Queues chunks. The round gives accounts fair turns: one past the account's own last, but never before the round
 * that the queue has reached, so that a newcomer starts level with the others and not in front of or behind them.
 */
export async function insertChunks(db: Db, chunks: readonly NewChunk[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO dispatch_chunk (account_id, connection_id, priority, round, available_at, size, ids)
        SELECT u.account_id, u.connection_id, u.priority,
               greatest(
                 coalesce((SELECT min(q.round) FROM dispatch_chunk q WHERE q.connection_id = u.connection_id
                             AND q.priority = u.priority AND q.owner IS NULL), 0),
                 coalesce((SELECT max(q.round) + 1 FROM dispatch_chunk q WHERE q.connection_id = u.connection_id
                             AND q.priority = u.priority AND q.account_id = u.account_id), 0))
               + row_number() OVER (PARTITION BY u.account_id, u.connection_id, u.priority ORDER BY u.n) - 1,
               coalesce(u.available_at, now()), u.size, u.ids::uuid[]
        FROM ${rowsOf(chunks, {
          account_id: bigint((c) => c.accountId),
          connection_id: bigint((c) => c.connectionId),
          priority: smallint((c) => c.priority),
          available_at: timestamptz((c) => c.availableAt),
          size: int((c) => c.ids.length),
          ids: text((c) => plainArray(c.ids)),
          n: int((_, i) => i),
        })} AS u
        ORDER BY u.n`,
  );
}

type ChunkRow = Omit<Chunk, 'ids'> & { ids: string };
/** The driver's array parser is slow on 1,000 ids: they come as one text. */
const withIds = <R extends ChunkRow>(row: R): Omit<R, 'ids'> & { ids: string[] } => ({
  ...row,
  ids: row.ids.split(','),
});

/**
 * Takes the best chunks for this worker until they hold `messages` messages, of priority numbers below
 * `belowPriority`. SKIP LOCKED keeps claimers apart; chunks and not messages are locked, so a long transaction
 * elsewhere does not slow it down.
 */
export async function claimChunks(
  db: Db,
  claim: { connectionId: number; owner: number; messages: number; belowPriority: number },
): Promise<Chunk[]> {
  const rows = await many<ChunkRow>(
    db,
    sql`WITH due AS MATERIALIZED (
          SELECT id, priority, round, size FROM dispatch_chunk
          WHERE connection_id = ${claim.connectionId} AND owner IS NULL AND available_at <= now()
            AND priority < ${claim.belowPriority}
          ORDER BY priority, round, id LIMIT 64 FOR UPDATE SKIP LOCKED),
        best AS (SELECT id, sum(size) OVER (ORDER BY priority, round, id) - size AS before FROM due)
        UPDATE dispatch_chunk c SET owner = ${claim.owner}
        FROM best WHERE c.id = best.id AND best.before < ${claim.messages}
        RETURNING c.id, c.account_id AS "accountId", c.priority, c.round, c.attempt, c.intent,
                  array_to_string(c.ids, ',') AS ids`,
  );
  return rows.map(withIds).sort((a, b) => a.priority - b.priority || a.round - b.round || a.id - b.id);
}

/** Commits how far each chunk may have been written. Answers the chunks that are still this worker's. */
export async function moveIntents(
  db: Db,
  move: { owner: number; intents: ReadonlyMap<number, number> },
): Promise<Set<number>> {
  const rows = await many<{ id: number }>(
    db,
    sql`UPDATE dispatch_chunk c SET intent = u.intent
        FROM ${rowsOf([...move.intents], {
          id: bigint(([id]) => id),
          intent: int(([, intent]) => intent),
        })} AS u
        WHERE c.id = u.id AND c.owner = ${move.owner} RETURNING c.id`,
  );
  return new Set(rows.map((row) => row.id));
}

/** Removes chunks whose messages all have an outcome. */
export async function deleteChunks(db: Db, { owner, ids }: { owner: number; ids: readonly number[] }): Promise<void> {
  await exec(db, sql`DELETE FROM dispatch_chunk WHERE id = ANY(${plainArray(ids)}::bigint[]) AND owner = ${owner}`);
}

/**
 * Gives a chunk back: what was not written yet waits for the next claimer, in its old turn. Under a new id, so that
 * a worker which claims it again and still holds the old one cannot take the two for the same.
 */
export async function moveChunkToQueue(
  db: Db,
  { owner, id, ids }: { owner: number; id: number; ids: readonly string[] },
): Promise<void> {
  await exec(
    db,
    sql`WITH gone AS (DELETE FROM dispatch_chunk WHERE id = ${id} AND owner = ${owner} RETURNING *)
        INSERT INTO dispatch_chunk (account_id, connection_id, priority, round, available_at, attempt, size, ids)
        SELECT account_id, connection_id, priority, round, available_at, attempt, ${ids.length},
               ${plainArray(ids)}::uuid[] FROM gone`,
  );
}

/**
 * Gives back what this worker owns on a connection, has not begun, and does not hold: a claim whose answer was lost.
 */
export async function moveUnheldToQueue(
  db: Db,
  { owner, connectionId, heldIds }: { owner: number; connectionId: number; heldIds: readonly number[] },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk SET owner = NULL
        WHERE owner = ${owner} AND connection_id = ${connectionId} AND intent = 0
          AND id <> ALL(${plainArray(heldIds)}::bigint[])`,
  );
}

export type RetryChunk = Omit<NewChunk, 'availableAt'> & {
  readonly round: number;
  readonly attempt: number;
  readonly afterMs: number;
};

/** Queues messages again that are known not to have been taken: same turn, one attempt more, not before `afterMs`. */
export async function insertRetryChunk(db: Db, chunk: RetryChunk): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO dispatch_chunk (account_id, connection_id, priority, round, attempt, available_at, size, ids)
        VALUES (${chunk.accountId}, ${chunk.connectionId}, ${chunk.priority}, ${chunk.round}, ${chunk.attempt},
                now() + ${chunk.afterMs} * interval '1 millisecond', ${chunk.ids.length}, ${plainArray(chunk.ids)}::uuid[])`,
  );
}

/** When the next chunk of this connection that waits for its time becomes due, in ms from now; null when none does. */
export async function findNextDueMs(db: Db, { connectionId }: { connectionId: number }): Promise<number | null> {
  const [row] = await many<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(available_at) - now()) * 1000)::float8 AS ms FROM dispatch_chunk
        WHERE connection_id = ${connectionId} AND owner IS NULL AND available_at > now()`,
  );
  return row?.ms ?? null;
}

/**
 * Locks chunks whose owner's advisory lock is gone: the worker died, or lost its session. The caller decides about
 * their messages in the same transaction.
 */
export async function claimOrphanChunks(
  db: Db,
  limit: number,
): Promise<(Chunk & { owner: number; connectionId: number })[]> {
  const rows = await many<ChunkRow & { owner: number; connectionId: number }>(
    db,
    sql`SELECT id, account_id AS "accountId", connection_id AS "connectionId", priority, round, attempt, intent,
               array_to_string(ids, ',') AS ids, owner
        FROM dispatch_chunk
        WHERE owner IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM pg_locks l
          WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (l.classid::bigint << 32 | l.objid::bigint) = dispatch_chunk.owner)
        ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  );
  return rows.map(withIds);
}

/** How many messages wait or are under way per connection, and the age of the oldest due chunk in seconds. */
export async function listQueueDepths(
  db: Db,
): Promise<{ connectionId: number; messages: number; oldestSeconds: number }[]> {
  return many(
    db,
    sql`SELECT connection_id AS "connectionId", sum(size - intent)::bigint AS messages,
               coalesce(extract(epoch FROM now() - min(available_at) FILTER (WHERE available_at <= now())), 0)::float8
                 AS "oldestSeconds"
        FROM dispatch_chunk GROUP BY connection_id ORDER BY connection_id`,
  );
}
