import {
  type BatchColumns,
  bigint,
  endsOf,
  input,
  insertRows,
  int,
  once,
  rowsOf,
  smallint,
  text,
  timestamptz,
  uuids,
} from '../core/db/columns.ts';
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
  raw,
  type Sql,
  sql,
} from '../core/db/query.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';

/** Action for a message that was written and never got a response: it is held for a receipt, or sent once more. */
export type OnUnknown = 'hold' | 'resubmit';

/** Messages of one account that are queued together for one connection. */
export type NewChunk = {
  readonly accountId: number;
  readonly connectionId: number;
  /** The connections that the messages may move to, best first. */
  readonly alternates?: readonly number[];
  readonly priority: number;
  /** The time for which a client scheduled the messages; null means now. */
  readonly availableAt: Date | null;
  /** `hold` by default. */
  readonly onUnknown?: OnUnknown;
  readonly attempt?: number;
  /** The campaign that may park or withdraw them while they wait. */
  readonly campaignId?: number | null;
  readonly ids: readonly string[];
};

/** Lists of ids as texts, because the driver parses arrays of 1,000 ids slowly; `withLists` splits them. */
const CHUNK = columns({
  id: as<number>('c.id'),
  accountId: as<number>('c.account_id'),
  priority: as<number>('c.priority'),
  /** Its turn in the queue: lower goes first among equal priorities. */
  round: as<number>('c.round'),
  attempt: as<number>('c.attempt'),
  /** Number of "later" responses of this connection to these messages. */
  tries: as<number>('c.tries'),
  /** Number of messages, from the first, that may have been written to the carrier. */
  intent: as<number>('c.intent'),
  onUnknown: as<OnUnknown>('c.on_unknown'),
  campaignId: as<number | null>('c.campaign_id'),
  alternates: as<string>("array_to_string(c.alternates, ',')"),
  ids: as<string>("array_to_string(c.ids, ',')"),
});
type ChunkRow = RowOf<typeof CHUNK>;
export type Chunk = Omit<ChunkRow, 'ids' | 'alternates'> & {
  /** The connections that its messages may move to, best first. */
  readonly alternates: number[];
  readonly ids: string[];
};

const withLists = <R extends ChunkRow>(row: R): Omit<R, 'ids' | 'alternates'> & Pick<Chunk, 'ids' | 'alternates'> => ({
  ...row,
  ids: row.ids.split(','),
  alternates: row.alternates === '' ? [] : row.alternates.split(',').map(Number),
});

/**
 * The columns that are copied when messages of a chunk move into a new row; its round advances by those that left it.
 */
export const COPIED_COLUMNS = sql`account_id, connection_id, alternates, priority, available_at, attempt, tries, on_unknown, scheduled,
  withdrawn, campaign_id, parked_until`;

/**
 * Scheduled messages that are later than this wait for the operator's decision: a morning offer should not go out at
 * night.
 */
export const MISSED_AFTER = sql`interval '60 minutes'`;

/**
 * The turn of a new row `u` (account_id, connection_id, priority, size, and n for the order) in its queue. Rounds count
 * messages, so that accounts share a connection by messages and not by chunks: each chunk starts where the previous
 * chunk of its account ends, but never before the round that the queue has reached, so that a new account starts level
 * with the others. Chunks that are not due yet do not count.
 */
const NEXT_ROUND = sql`greatest(
    coalesce((SELECT min(q.round) FROM dispatch_chunk q WHERE q.connection_id = u.connection_id
                AND q.priority = u.priority AND q.owner IS NULL AND q.available_at <= now()), 0),
    coalesce((SELECT q.round + q.size FROM dispatch_chunk q WHERE q.connection_id = u.connection_id
                AND q.priority = u.priority AND q.account_id = u.account_id ORDER BY q.round DESC LIMIT 1), 0))
  + sum(u.size) OVER (PARTITION BY u.account_id, u.connection_id, u.priority ORDER BY u.n) - u.size`;

const CHUNK_FIELDS = once({
  accountId: bigint,
  connectionId: bigint,
  alternates: input(text),
  priority: smallint,
  availableAt: input(timestamptz),
  attempt: smallint,
  onUnknown: text,
  campaignId: bigint,
  size: int,
  last: input(int),
  n: input(int),
});

/** Queues chunks, each in the turn of its account. */
export async function insertChunks(db: Db, chunks: readonly NewChunk[]): Promise<void> {
  const lists = chunks.map((chunk) => chunk.ids);
  const ends = endsOf(lists);
  const rows = chunks.map(
    ({ alternates = [], attempt = 0, onUnknown = 'hold', campaignId = null, ids, ...chunk }, n) => ({
      ...chunk,
      alternates: plainArray(alternates),
      attempt,
      onUnknown,
      campaignId,
      size: ids.length,
      last: ends[n] ?? 0,
      n,
    }),
  );
  const expressions = {
    alternates: sql`u.alternates::bigint[]`,
    round: NEXT_ROUND,
    available_at: sql`coalesce(u.available_at, now())`,
    scheduled: sql`u.available_at IS NOT NULL`,
    ids: sql`(${uuids(lists)})[u.last - u.size + 1:u.last]`,
  };
  await exec(db, onePlan(sql`${insertRows('dispatch_chunk', rows, CHUNK_FIELDS, expressions)} ORDER BY u.n`));
}

/**
 * Extent of a worker's claim: the best chunks until they contain `messages` messages, of priorities below
 * `belowPriority`.
 */
export type Claim = {
  readonly connectionId: number;
  readonly owner: number;
  readonly messages: number;
  readonly belowPriority: number;
};

/** Maximum number of chunks that one claim takes. */
export const CHUNKS_PER_CLAIM = 64;

/**
 * The best chunks that are due, as `best`: each with the number of messages `before` it. SKIP LOCKED keeps claimers
 * apart; chunks and not messages are locked, so long transactions elsewhere do not slow it down.
 */
const bestChunks = ({ connectionId, belowPriority }: Claim, more: Sql): Sql =>
  sql`due AS MATERIALIZED (
        SELECT id, priority, round, ${more} FROM dispatch_chunk
        WHERE connection_id = ${connectionId} AND owner IS NULL AND available_at <= now()
          AND priority < ${belowPriority} AND (NOT scheduled OR available_at > now() - ${MISSED_AFTER})
        ORDER BY priority, round, id LIMIT ${constant(CHUNKS_PER_CLAIM)} FOR UPDATE SKIP LOCKED),
      best AS (SELECT *, sum(size) OVER (ORDER BY priority, round, id) - size AS before FROM due)`;

/** Claims whole chunks, and returns them in their order. */
export async function claimChunks(db: Db, claim: Claim): Promise<Chunk[]> {
  const rows = await many(
    db,
    onePlan(sql`WITH ${bestChunks(claim, sql`size`)}
        UPDATE dispatch_chunk c SET owner = ${claim.owner}
        FROM best WHERE c.id = best.id AND best.before < ${claim.messages}
        RETURNING ${CHUNK}`),
  );
  return inOrder(rows);
}

/**
 * Claims chunks of together at most `maxMessages` messages, which is at least `messages`, and returns them in their
 * order. The last one is cut: the rest of it stays in the queue, in a chunk with a new id and in its own turn. In one
 * statement: between a claim of the whole and the return of the rest, the queue would seem to be further than it is,
 * and a newcomer would be put behind all of it.
 */
export async function claimMessages(db: Db, claim: Claim & { maxMessages: number }): Promise<Chunk[]> {
  const room = sql`(${claim.maxMessages} - best.before)::int`;
  const rows = await many(
    db,
    onePlan(sql`WITH ${bestChunks(claim, sql`size, ids AS whole`)},
        claimed AS (
          UPDATE dispatch_chunk c
          SET owner = ${claim.owner}, size = least(c.size, ${room}),
              ids = CASE WHEN c.size <= ${room} THEN c.ids ELSE c.ids[1:${room}] END
          FROM best WHERE c.id = best.id AND best.before < ${claim.messages}
          RETURNING c.*, best.whole),
        rest AS (
          INSERT INTO dispatch_chunk (${COPIED_COLUMNS}, round, size, ids)
          SELECT ${COPIED_COLUMNS}, round + size, cardinality(whole) - size, whole[size + 1:] FROM claimed
          WHERE cardinality(whole) > size)
        SELECT ${CHUNK} FROM claimed c`),
  );
  return inOrder(rows);
}

const inOrder = (rows: readonly ChunkRow[]): Chunk[] =>
  rows.map(withLists).sort((a, b) => a.priority - b.priority || a.round - b.round || a.id - b.id);

/** The state of a chunk that still belongs to this worker. */
export type OwnedChunk = {
  readonly withdrawn: readonly string[];
  /** True if no more of its messages may be written: then its intent has not changed. */
  readonly parked: boolean;
};

const OWNED_CHUNK = columns({
  id: as<number>('c.id'),
  withdrawn: as<string | null>("array_to_string(c.withdrawn, ',')"),
  parked: as<boolean>('c.parked_until IS NOT NULL'),
});

const INTENT_FIELDS: BatchColumns<[id: number, intent: number]> = once({
  id: bigint(([id]) => id),
  intent: int(([, intent]) => intent),
});

/** Sets how many messages of each chunk may have been written. Returns the chunks that still belong to this worker. */
export async function updateIntents(
  db: Db,
  move: { owner: number; intents: ReadonlyMap<number, number> },
): Promise<Map<number, OwnedChunk>> {
  const rows = await many(
    db,
    onePlan(sql`UPDATE dispatch_chunk c SET intent = CASE WHEN c.parked_until IS NULL THEN u.intent ELSE c.intent END
        FROM ${rowsOf([...move.intents], INTENT_FIELDS)} AS u
        WHERE c.id = u.id AND c.owner = ${move.owner}
        RETURNING ${OWNED_CHUNK}`),
  );
  return new Map(rows.map(({ id, withdrawn, parked }) => [id, { withdrawn: withdrawn?.split(',') ?? [], parked }]));
}

/** Deletes chunks whose messages all have an outcome. */
export async function deleteChunks(db: Db, { owner, ids }: { owner: number; ids: readonly number[] }): Promise<void> {
  await exec(
    db,
    onePlan(sql`DELETE FROM dispatch_chunk WHERE id = ANY(${plainArray(ids)}::bigint[]) AND owner = ${owner}`),
  );
}

/**
 * Returns a chunk to the queue with the messages `ids`, those that were not written yet, in the turn of the first of
 * them. The new chunk has a new id, so that a worker that claims it while it still holds the old one cannot confuse
 * them.
 */
export async function moveChunkToQueue(
  db: Db,
  { owner, id, ids }: { owner: number; id: number; ids: readonly string[] },
): Promise<void> {
  await exec(
    db,
    sql`WITH gone AS (DELETE FROM dispatch_chunk WHERE id = ${id} AND owner = ${owner} RETURNING *)
        INSERT INTO dispatch_chunk (${COPIED_COLUMNS}, round, size, ids)
        SELECT ${COPIED_COLUMNS}, round + size - ${ids.length}, ${ids.length}, ${plainArray(ids)}::uuid[] FROM gone`,
  );
}

/** Returns the chunks that this worker owns without holding them, because the response to its claim was lost. */
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

/** Queues messages again: in the same turn, with their new number of attempts, after `afterMs`. */
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

/** A chunk that has moved to another connection, with the number of its messages. */
const CHUNK_MOVE = columns({
  from: as<number>('t.from_id'),
  to: as<number>('c.connection_id'),
  messages: as<number>('c.size'),
});
export type ChunkMove = RowOf<typeof CHUNK_MOVE>;

/**
 * Moves the best `limit` due chunks that wait at `dead` connections, each to the first of its alternates that is among
 * `up`; its old connection becomes its last alternate. Claimed chunks stay: some of their messages may have been
 * written, and only their own connection can report the outcome.
 */
export async function moveChunksElsewhere(
  db: Db,
  { dead, up, limit }: { dead: readonly number[]; up: readonly number[]; limit: number },
): Promise<ChunkMove[]> {
  return many(
    db,
    sql`WITH waiting AS MATERIALIZED (
          SELECT id, account_id, priority, round, size, connection_id AS from_id,
                 (SELECT a.id FROM unnest(alternates) WITH ORDINALITY AS a (id, n)
                  WHERE a.id = ANY(${plainArray(up)}::bigint[]) ORDER BY a.n LIMIT 1) AS connection_id
          FROM dispatch_chunk
          WHERE connection_id = ANY(${plainArray(dead)}::bigint[]) AND owner IS NULL AND available_at <= now()
            AND alternates && ${plainArray(up)}::bigint[]
          ORDER BY priority, round, id LIMIT ${limit} FOR UPDATE SKIP LOCKED),
        u AS (SELECT w.*, row_number() OVER (ORDER BY w.priority, w.round, w.id) AS n FROM waiting w),
        turn AS (SELECT u.id, u.connection_id, u.from_id, ${NEXT_ROUND} AS round FROM u)
        UPDATE dispatch_chunk c
        SET connection_id = t.connection_id, round = t.round, tries = 0,
            alternates = array_append(array_remove(c.alternates, t.connection_id), c.connection_id)
        FROM turn t WHERE c.id = t.id
        RETURNING ${CHUNK_MOVE}`,
  );
}

/** Counts the messages that wait for a connection or are being sent over it. */
export async function countQueued(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  const [row] = await many<{ count: number }>(
    db,
    sql`SELECT coalesce(sum(size), 0)::bigint AS count FROM dispatch_chunk WHERE connection_id = ${connectionId}`,
  );
  return row?.count ?? 0;
}

/** Removes a connection from the alternates of all chunks; returns how many had it. */
export async function deleteAlternate(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk SET alternates = array_remove(alternates, ${connectionId})
        WHERE ${connectionId} = ANY(alternates)`,
  );
}

/** Returns in how many ms the next chunk of a connection becomes due; null when none is waiting for its time. */
export async function findNextDueMs(db: Db, { connectionId }: { connectionId: number }): Promise<number | null> {
  const [row] = await many<{ ms: number | null }>(
    db,
    onePlan(sql`SELECT (extract(epoch FROM min(available_at) - now()) * 1000)::float8 AS ms FROM dispatch_chunk
        WHERE connection_id = ${connectionId} AND owner IS NULL AND available_at > now()`),
  );
  return row?.ms ?? null;
}

const ORPHANED = sql`owner IS NOT NULL AND NOT ${isOwnerAlive(raw('c.owner'))}`;

/** Returns true if a dead worker owns chunks. Runs about once per second, and nearly always returns false. */
export async function hasOrphanChunks(db: Db): Promise<boolean> {
  const [row] = await many(db, sql`SELECT FROM dispatch_chunk c WHERE ${ORPHANED} LIMIT 1`);
  return row !== undefined;
}

const OWNER = columns({ owner: as<number>('c.owner'), connectionId: as<number>('c.connection_id') });

/**
 * Locks chunks whose owner no longer has its advisory lock: the worker died, or lost its session. The caller decides
 * about their messages in the same transaction.
 */
export async function claimOrphanChunks(db: Db, limit: number): Promise<(Chunk & RowOf<typeof OWNER>)[]> {
  const rows = await many(
    db,
    sql`SELECT ${CHUNK}, ${OWNER} FROM dispatch_chunk c
        WHERE ${ORPHANED} ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  );
  return rows.map(withLists);
}

const QUEUE_DEPTH = columns({
  connectionId: as<number>('connection_id'),
  messages: as<number>('sum(size - intent)::bigint'),
  oldestSeconds: as<number>(
    sql`coalesce(extract(epoch FROM now() - min(available_at) FILTER (WHERE available_at <= now()
                 AND (NOT scheduled OR available_at > now() - ${MISSED_AFTER}))), 0)::float8`,
  ),
});

/** Lists, by connection, how many messages wait or are being sent, and the age of the oldest due chunk in seconds. */
export async function listQueueDepths(db: Db): Promise<RowOf<typeof QUEUE_DEPTH>[]> {
  return many(db, sql`SELECT ${QUEUE_DEPTH} FROM dispatch_chunk GROUP BY connection_id ORDER BY connection_id`);
}

type CampaignKey = { readonly campaignId: number };

/** True if message `m` of chunk `c` was not withdrawn. */
const STAYS = sql`(c.withdrawn IS NULL OR m.id <> ALL (c.withdrawn))`;

/**
 * Counts the messages of a campaign that wait in unclaimed chunks, and those in claimed chunks that are not written
 * yet; without withdrawn ones. Pending responses may still return messages to the queue.
 */
export async function countCampaignChunks(
  db: Db,
  { campaignId }: CampaignKey,
): Promise<{ waiting: number; owned: number }> {
  return one(
    db,
    sql`SELECT count(*) FILTER (WHERE c.owner IS NULL) AS waiting, count(*) FILTER (WHERE c.owner IS NOT NULL) AS owned
        FROM dispatch_chunk c CROSS JOIN unnest(c.ids[c.intent + 1:]) AS m (id)
        WHERE c.campaign_id = ${campaignId} AND ${STAYS}`,
  );
}

/**
 * Parks the chunks of a campaign: no worker claims them until `moveChunksFromParked`. Claimed chunks are parked as
 * well: their worker notices before it writes more of them, and returns them. Returns the number of chunks.
 */
export async function moveChunksToParked(db: Db, { campaignId }: CampaignKey): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk c SET parked_until = c.available_at, available_at = 'infinity'
        FROM (SELECT id FROM dispatch_chunk WHERE campaign_id = ${campaignId} AND parked_until IS NULL
              ORDER BY id FOR UPDATE) AS own
        WHERE c.id = own.id`,
  );
}

/** Makes the parked chunks of a campaign available again at their former time. Returns their number. */
export async function moveChunksFromParked(db: Db, { campaignId }: CampaignKey): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk c SET available_at = c.parked_until, parked_until = NULL
        FROM (SELECT id FROM dispatch_chunk WHERE campaign_id = ${campaignId} AND parked_until IS NOT NULL
              ORDER BY id FOR UPDATE) AS own
        WHERE c.id = own.id`,
  );
}

/** Lists the connections at which messages of a campaign wait, so that their pumps can be woken. */
export async function listCampaignConnections(db: Db, { campaignId }: CampaignKey): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT DISTINCT connection_id AS id FROM dispatch_chunk WHERE campaign_id = ${campaignId} ORDER BY 1`,
  );
  return rows.map((row) => row.id);
}

/** Locks the oldest `limit` chunks of a campaign in which messages wait; returns their ids. */
export async function claimCampaignChunks(
  db: Db,
  { accountId, campaignId }: CampaignKey & { readonly accountId: number },
  limit: number,
): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT c.id FROM dispatch_chunk c
        WHERE c.campaign_id = ${campaignId} AND c.account_id = ${accountId}
          AND EXISTS (SELECT FROM unnest(c.ids[c.intent + 1:]) AS m (id) WHERE ${STAYS})
        ORDER BY c.id LIMIT ${limit} FOR UPDATE OF c`,
  );
  return rows.map((row) => row.id);
}

/** Marks all waiting messages of these locked chunks as withdrawn; returns the ids of the messages. */
export async function moveAllToWithdrawn(db: Db, { chunkIds }: { chunkIds: readonly number[] }): Promise<string[]> {
  const rows = await many<{ ids: string }>(
    db,
    sql`UPDATE dispatch_chunk d SET withdrawn = coalesce(d.withdrawn, '{}') || hit.ids
        FROM (SELECT c.id, array_agg(m.id) AS ids
              FROM dispatch_chunk c CROSS JOIN unnest(c.ids[c.intent + 1:]) AS m (id)
              WHERE c.id = ANY(${plainArray(chunkIds)}::bigint[]) AND ${STAYS}
              GROUP BY c.id) AS hit
        WHERE d.id = hit.id
        RETURNING array_to_string(hit.ids, ',') AS ids`,
  );
  return rows.flatMap((row) => row.ids.split(','));
}
