import { plainArray } from '../../platform/db/array.ts';
import { bigint, endsOf, int, rowsOf, smallint, text, timestamptz, uuids } from '../../platform/db/columns.ts';
import { type Db, exec, many, onePlan, raw, sql } from '../../platform/db/query.ts';
import { isAlive } from '../../platform/db/worker-session.ts';

/** What becomes of a message that was written and never answered: it waits, or goes out once more. */
export type OnUnknown = 'hold' | 'resubmit';

export type NewChunk = {
  readonly accountId: number;
  readonly connectionId: number;
  /** The connections that it may move to, best first. */
  readonly alternates?: readonly number[];
  readonly priority: number;
  /** Not before, as a client asked; null is at once. */
  readonly availableAt: Date | null;
  /** `hold` unless said otherwise. */
  readonly onUnknown?: OnUnknown;
  /** How often these messages were tried already. */
  readonly attempt?: number;
  /** The campaign that may hold or take them back while they wait. */
  readonly campaignId?: number | null;
  readonly ids: readonly string[];
};

export type Chunk = {
  id: number;
  accountId: number;
  priority: number;
  round: number;
  attempt: number;
  /** How often this connection answered "later" of these messages. */
  tries: number;
  alternates: number[];
  onUnknown: OnUnknown;
  campaignId: number | null;
  intent: number;
  ids: string[];
};

/** Everything that a chunk keeps when its messages go into another row; its round moves on with what has left it. */
const KEPT = sql`account_id, connection_id, alternates, priority, available_at, attempt, tries, on_unknown, scheduled,
  withdrawn, campaign_id, parked_until`;

/** A schedule that was missed by more is not sent but asked about: nobody wants a morning's offer at night. */
export const MISSED_AFTER = sql`interval '60 minutes'`;

/**
 * The turn of a row `u` (account_id, connection_id, priority, size, and n for the order) that comes into a queue. Rounds
 * count messages, so that accounts share a connection by messages and not by chunks: each chunk stands where the
 * account's one before it ends, but never before the round that the queue has reached, so that a newcomer starts level
 * with the others and not in front of or behind them. What waits for its time has reached nothing yet.
 */
const NEXT_ROUND = sql`greatest(
    coalesce((SELECT min(q.round) FROM dispatch_chunk q WHERE q.connection_id = u.connection_id
                AND q.priority = u.priority AND q.owner IS NULL AND q.available_at <= now()), 0),
    coalesce((SELECT q.round + q.size FROM dispatch_chunk q WHERE q.connection_id = u.connection_id
                AND q.priority = u.priority AND q.account_id = u.account_id ORDER BY q.round DESC LIMIT 1), 0))
  + sum(u.size) OVER (PARTITION BY u.account_id, u.connection_id, u.priority ORDER BY u.n) - u.size`;

/** Queues chunks, in their accounts' turns. */
export async function insertChunks(db: Db, chunks: readonly NewChunk[]): Promise<void> {
  const lists = chunks.map((chunk) => chunk.ids);
  const ends = endsOf(lists);
  await exec(
    db,
    onePlan(sql`INSERT INTO dispatch_chunk (account_id, connection_id, alternates, priority, round, available_at, scheduled,
                                    attempt, on_unknown, campaign_id, size, ids)
        SELECT u.account_id, u.connection_id, u.alternates::bigint[], u.priority, ${NEXT_ROUND},
               coalesce(u.available_at, now()), u.available_at IS NOT NULL, u.attempt, u.on_unknown, u.campaign_id,
               u.size, (${uuids(lists)})[u.last - u.size + 1:u.last]
        FROM ${rowsOf(chunks, {
          account_id: bigint((c) => c.accountId),
          connection_id: bigint((c) => c.connectionId),
          alternates: text((c) => plainArray(c.alternates ?? [])),
          priority: smallint((c) => c.priority),
          available_at: timestamptz((c) => c.availableAt),
          attempt: smallint((c) => c.attempt ?? 0),
          on_unknown: text((c) => c.onUnknown ?? 'hold'),
          campaign_id: bigint((c) => c.campaignId ?? null),
          size: int((c) => c.ids.length),
          last: int((_, i) => ends[i] ?? 0),
          n: int((_, i) => i),
        })} AS u
        ORDER BY u.n`),
  );
}

type ChunkRow = Omit<Chunk, 'ids' | 'alternates'> & { ids: string; alternates: string };
/** The driver's array parser is slow on 1,000 ids: arrays come as one text. */
const withIds = <R extends ChunkRow>(row: R): Omit<R, 'ids' | 'alternates'> & Pick<Chunk, 'ids' | 'alternates'> => ({
  ...row,
  ids: row.ids.split(','),
  alternates: row.alternates === '' ? [] : row.alternates.split(',').map(Number),
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
            AND priority < ${claim.belowPriority} AND (NOT scheduled OR available_at > now() - ${MISSED_AFTER})
          ORDER BY priority, round, id LIMIT 64 FOR UPDATE SKIP LOCKED),
        best AS (SELECT id, sum(size) OVER (ORDER BY priority, round, id) - size AS before FROM due)
        UPDATE dispatch_chunk c SET owner = ${claim.owner}
        FROM best WHERE c.id = best.id AND best.before < ${claim.messages}
        RETURNING c.id, c.account_id AS "accountId", c.priority, c.round, c.attempt, c.tries, c.intent,
                  c.on_unknown AS "onUnknown", c.campaign_id AS "campaignId",
                  array_to_string(c.alternates, ',') AS alternates, array_to_string(c.ids, ',') AS ids`,
  );
  return rows.map(withIds).sort((a, b) => a.priority - b.priority || a.round - b.round || a.id - b.id);
}

/** How a chunk stands that is still this worker's. */
export type Standing = {
  /** Those of its messages that were withdrawn. */
  readonly withdrawn: readonly string[];
  /** Nothing more of it may be written: its intent stayed as it was. */
  readonly parked: boolean;
};

/** Commits how far each chunk may have been written. Answers the chunks that are still this worker's. */
export async function moveIntents(
  db: Db,
  move: { owner: number; intents: ReadonlyMap<number, number> },
): Promise<Map<number, Standing>> {
  const rows = await many<{ id: number; withdrawn: string | null; parked: boolean }>(
    db,
    onePlan(sql`UPDATE dispatch_chunk c SET intent = CASE WHEN c.parked_until IS NULL THEN u.intent ELSE c.intent END
        FROM ${rowsOf([...move.intents], {
          id: bigint(([id]) => id),
          intent: int(([, intent]) => intent),
        })} AS u
        WHERE c.id = u.id AND c.owner = ${move.owner}
        RETURNING c.id, array_to_string(c.withdrawn, ',') AS withdrawn, c.parked_until IS NOT NULL AS parked`),
  );
  return new Map(rows.map(({ id, withdrawn, parked }) => [id, { withdrawn: withdrawn?.split(',') ?? [], parked }]));
}

/** Removes chunks whose messages all have an outcome. */
export async function deleteChunks(db: Db, { owner, ids }: { owner: number; ids: readonly number[] }): Promise<void> {
  await exec(
    db,
    onePlan(sql`DELETE FROM dispatch_chunk WHERE id = ANY(${plainArray(ids)}::bigint[]) AND owner = ${owner}`),
  );
}

/**
 * Gives a chunk back: what was not written yet waits for the next claimer, in the turn of its first message. Under a
 * new id, so that a worker which claims it again and still holds the old one cannot take the two for the same.
 */
export async function moveChunkToQueue(
  db: Db,
  { owner, id, ids }: { owner: number; id: number; ids: readonly string[] },
): Promise<void> {
  await exec(
    db,
    sql`WITH gone AS (DELETE FROM dispatch_chunk WHERE id = ${id} AND owner = ${owner} RETURNING *)
        INSERT INTO dispatch_chunk (${KEPT}, round, size, ids)
        SELECT ${KEPT}, round + size - ${ids.length}, ${ids.length}, ${plainArray(ids)}::uuid[] FROM gone`,
  );
}

/**
 * Keeps the first `keep` messages of a claimed chunk that was not begun and gives the others back, under a new id and
 * behind what other accounts have waiting up to where they stand.
 */
export async function moveRestToQueue(
  db: Db,
  { owner, id, keep }: { owner: number; id: number; keep: number },
): Promise<void> {
  await exec(
    db,
    sql`WITH cut AS (
          UPDATE dispatch_chunk SET ids = ids[1:${keep}::int], size = ${keep}
          WHERE id = ${id} AND owner = ${owner} AND intent = 0 AND size > ${keep}
          RETURNING dispatch_chunk.*, old.ids AS whole)
        INSERT INTO dispatch_chunk (${KEPT}, round, size, ids)
        SELECT ${KEPT}, round + size, cardinality(whole) - size, whole[${keep}::int + 1:] FROM cut`,
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
  readonly tries: number;
  readonly afterMs: number;
};

/** Queues messages again: same turn, one attempt more, not before `afterMs`. */
export async function insertRetryChunk(db: Db, chunk: RetryChunk): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO dispatch_chunk (account_id, connection_id, alternates, priority, round, attempt, tries, available_at,
                                    on_unknown, campaign_id, size, ids)
        VALUES (${chunk.accountId}, ${chunk.connectionId}, ${plainArray(chunk.alternates ?? [])}::bigint[],
                ${chunk.priority}, ${chunk.round}, ${chunk.attempt}, ${chunk.tries},
                now() + ${chunk.afterMs} * interval '1 millisecond', ${chunk.onUnknown ?? 'hold'},
                ${chunk.campaignId ?? null}, ${chunk.ids.length}, ${plainArray(chunk.ids)}::uuid[])`,
  );
}

export type ChunkMove = { from: number; to: number; messages: number };

/**
 * Moves chunks that are due and wait at `dead` connections, the best `limit` of them, each to the first of its
 * alternates that is among `up`; where it waited becomes its last alternate. A claimed chunk stays: some of its messages
 * may have been written, and what becomes of those is for its own connection to tell.
 */
export async function moveChunksElsewhere(
  db: Db,
  { dead, up, limit }: { dead: readonly number[]; up: readonly number[]; limit: number },
): Promise<ChunkMove[]> {
  return many(
    db,
    sql`WITH waiting AS MATERIALIZED (
          SELECT id, account_id, priority, round, size,
                 (SELECT a.id FROM unnest(alternates) WITH ORDINALITY AS a (id, n)
                  WHERE a.id = ANY(${plainArray(up)}::bigint[]) ORDER BY a.n LIMIT 1) AS connection_id
          FROM dispatch_chunk
          WHERE connection_id = ANY(${plainArray(dead)}::bigint[]) AND owner IS NULL AND available_at <= now()
            AND alternates && ${plainArray(up)}::bigint[]
          ORDER BY priority, round, id LIMIT ${limit} FOR UPDATE SKIP LOCKED),
        u AS (SELECT w.*, row_number() OVER (ORDER BY w.priority, w.round, w.id) AS n FROM waiting w),
        turn AS (SELECT u.id, u.connection_id, ${NEXT_ROUND} AS round FROM u)
        UPDATE dispatch_chunk c
        SET connection_id = t.connection_id, round = t.round, tries = 0,
            alternates = array_append(array_remove(c.alternates, t.connection_id), c.connection_id)
        FROM turn t WHERE c.id = t.id
        RETURNING old.connection_id AS "from", c.connection_id AS "to", c.size AS messages`,
  );
}

/** How many messages wait at a connection or are under way over it. */
export async function countQueued(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  const [row] = await many<{ count: number }>(
    db,
    sql`SELECT coalesce(sum(size), 0)::bigint AS count FROM dispatch_chunk WHERE connection_id = ${connectionId}`,
  );
  return row?.count ?? 0;
}

/** Takes a connection off the alternates of all chunks. */
export async function deleteAlternate(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk SET alternates = array_remove(alternates, ${connectionId})
        WHERE ${connectionId} = ANY(alternates)`,
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

const ORPHANED = sql`owner IS NOT NULL AND NOT ${isAlive(raw('dispatch_chunk.owner'))}`;

/** Whether a worker is gone that had chunks: looked for twice a second, and nearly always in vain. */
export async function findOrphan(db: Db): Promise<boolean> {
  const [row] = await many(db, sql`SELECT FROM dispatch_chunk WHERE ${ORPHANED} LIMIT 1`);
  return row !== undefined;
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
    sql`SELECT id, account_id AS "accountId", connection_id AS "connectionId", priority, round, attempt,
               tries, on_unknown AS "onUnknown", campaign_id AS "campaignId", intent,
               array_to_string(alternates, ',') AS alternates, array_to_string(ids, ',') AS ids, owner
        FROM dispatch_chunk
        WHERE ${ORPHANED} ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
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
               coalesce(extract(epoch FROM now() - min(available_at) FILTER (WHERE available_at <= now()
                        AND (NOT scheduled OR available_at > now() - ${MISSED_AFTER}))), 0)::float8
                 AS "oldestSeconds"
        FROM dispatch_chunk GROUP BY connection_id ORDER BY connection_id`,
  );
}
