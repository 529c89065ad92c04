import type { Pool } from 'pg';
import type { Outcome } from '../channels/carrier.ts';
import { bigint, rowsOf, uuid } from '../core/db/columns.ts';
import { type Db, exec, many, plainArray, sql } from '../core/db/query.ts';
import { burst, transaction } from '../core/db/transaction.ts';
import { finishedBy, type HeldChunk, type Job, type Settled } from './held.ts';
import * as db from './store.ts';
import { claimCampaignChunks, insertChunks, insertRetryChunk, moveAllToWithdrawn, type OnUnknown } from './store.ts';

/** The outcome of one attempt to send a message, for the feature that owns the message's state. */
export type Result = {
  readonly accountId: number;
  readonly messageId: string;
  readonly connectionId: number;
  /** The number of attempts so far, including this one. */
  readonly attempt: number;
  readonly outcome: Outcome;
  /** Time at which the carrier's response arrived, or the wait for it ended. */
  readonly answeredAt: Date;
  /** True if a message with outcome `unknown` is sent once more, so that it may arrive twice. */
  readonly resubmit: boolean;
  /** Null for the message of a dead worker, whose content is no longer in memory. */
  readonly job: Job | null;
};

/**
 * Records outcomes in the caller's transaction, as its last statements, and returns which messages it recorded. An
 * outcome that is already recorded is skipped with `again`; without `again` it may make the call fail, and all
 * statements are sent before the function first yields, as `burst` requires.
 */
export type Settle = (tx: Db, results: readonly Result[], again: boolean) => Promise<Recorded>;

/**
 * The ids of the messages whose outcome was recorded just now, and not before. `all` stands for all that were given: a
 * set of a thousand new strings costs more than the messages' share of the commit.
 */
export type Recorded = ReadonlySet<string> | 'all';
const isRecorded = (recorded: Recorded, messageId: string): boolean => recorded === 'all' || recorded.has(messageId);

/** The chunks that still belong to this worker, by id. */
export type OwnedChunks = ReadonlyMap<number, db.OwnedChunk>;

type CommitDeps = {
  readonly pool: Pool;
  readonly connectionId: number;
  /** The key of this worker's advisory lock, which identifies it. */
  readonly owner: number;
  readonly settle: Settle;
};

type Turn = {
  readonly settled: readonly Settled[];
  /** Number of messages, by chunk, that may have been written after this turn. */
  readonly intents: ReadonlyMap<number, number>;
};
type Commit = Turn & { readonly results: readonly Result[]; readonly done: readonly number[] };

/**
 * Commits outcomes and intents together, and resolves with the chunks of the intents that still belong to this worker.
 * With `again`, for a commit whose response was lost, nothing is recorded or queued a second time.
 */
export function commitTurn(deps: CommitDeps, turn: Turn, again: boolean): Promise<OwnedChunks> {
  const results = resultsOf(turn.settled, deps.connectionId);
  const commit = { ...turn, results, done: finishedBy(turn.settled) };
  const first = !again && results.every((result) => result.attempt === 1);
  return first ? commitFirst(deps, commit) : commitAgain(deps, commit, again);
}

/**
 * Commits the common case in one round trip: first outcomes are never recorded already, so no statement depends on
 * another.
 */
async function commitFirst(deps: CommitDeps, { settled, intents, results, done }: Commit): Promise<OwnedChunks> {
  const { pool, owner, connectionId } = deps;
  const [owned] = await burst(pool, (tx) => [
    intents.size === 0 ? Promise.resolve<OwnedChunks>(new Map()) : db.updateIntents(tx, { owner, intents }),
    done.length === 0 ? Promise.resolve() : db.deleteChunks(tx, { owner, ids: done }),
    requeue(tx, connectionId, settled),
    results.length === 0 ? Promise.resolve() : deps.settle(tx, results, false),
  ]);
  return owned;
}

function commitAgain(deps: CommitDeps, commit: Commit, again: boolean): Promise<OwnedChunks> {
  const { pool, owner, connectionId } = deps;
  const { settled, intents, results, done } = commit;
  return transaction(pool, async (tx) => {
    const owned: OwnedChunks = intents.size === 0 ? new Map() : await db.updateIntents(tx, { owner, intents });
    if (done.length > 0) await db.deleteChunks(tx, { owner, ids: done });
    if (results.length === 0) return owned;
    const recorded = await deps.settle(tx, results, again);
    await requeue(
      tx,
      connectionId,
      settled.filter(({ job }) => isRecorded(recorded, job.messageId)),
    );
    return owned;
  });
}

function resultsOf(settled: readonly Settled[], connectionId: number): Result[] {
  const results: Result[] = [];
  for (const { chunk, job, outcome, answeredAt } of settled) {
    if (outcome === null) continue;
    const { accountId, attempt, onUnknown } = chunk;
    const resubmit = outcome.kind === 'unknown' && onUnknown === 'resubmit';
    const { messageId } = job;
    results.push({ accountId, messageId, connectionId, attempt: attempt + 1, outcome, answeredAt, resubmit, job });
  }
  return results;
}

/** Messages of one chunk that are queued again in the same way. */
type Group = {
  readonly chunk: HeldChunk;
  readonly elsewhere: boolean;
  readonly counts: boolean;
  readonly afterMs: number;
  /** The connections to which they may move after the next response. */
  readonly alternates: readonly number[];
  readonly onUnknown: OnUnknown;
  readonly ids: string[];
};

/**
 * Queues messages with outcome `retry` again, in one new chunk per old chunk, delay and connection. Messages with
 * outcome `unknown` are queued again only where their chunk has `resubmit`, and only once: after a second `unknown`
 * they are held. `settled` must contain only messages whose outcome this transaction records.
 */
async function requeue(tx: Db, connectionId: number, settled: readonly Settled[]): Promise<void> {
  const groups = groupsOf(settled);
  const elsewhere = groups.flatMap((group) => (group.elsewhere ? toNextConnection(group) : []));
  // All statements are sent before this returns, because it may be part of a `burst`.
  await Promise.all([
    ...groups.filter((group) => !group.elsewhere).map((group) => insertRetryChunk(tx, toRetry(connectionId, group))),
    ...(elsewhere.length > 0 ? [insertChunks(tx, elsewhere)] : []),
  ]);
}

/** Lists the connections to which some of these messages move. */
export const listNextConnections = (settled: readonly Settled[]): Set<number> =>
  new Set(settled.flatMap(({ chunk, elsewhere }) => (elsewhere ? chunk.alternates.slice(0, 1) : [])));

function groupsOf(settled: readonly Settled[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { chunk, job, outcome, elsewhere } of settled) {
    const again = retryOf(chunk, outcome);
    if (again === null) continue;
    const { counts, afterMs } = again;
    const key = `${chunk.id}/${outcome?.kind}/${afterMs}/${counts}/${elsewhere}`;
    const group = groups.get(key);
    if (group) group.ids.push(job.messageId);
    else groups.set(key, { chunk, elsewhere, ...again, ids: [job.messageId] });
  }
  return [...groups.values()];
}

/**
 * Makes a retry. A message that this connection may have accepted goes to no other connection, whatever the second
 * response is.
 */
function retryOf({ onUnknown, alternates }: HeldChunk, outcome: Outcome | null) {
  if (outcome?.kind === 'retry') return { afterMs: outcome.afterMs, counts: outcome.counts, onUnknown, alternates };
  if (outcome?.kind !== 'unknown' || onUnknown === 'hold') return null;
  return { afterMs: 0, counts: false, onUnknown: 'hold', alternates: [] } as const;
}

/** Bound of the counter in the database, which has 16 bits: a carrier may ask for patience for days. */
const MAX_ATTEMPT = 32_000;
/**
 * A message that a carrier puts off again and again, such as for the full queue of its recipient, comes back more and more
 * rarely, up to this: otherwise a handful of them would take the rate from all others.
 */
const MAX_BACKOFF_MS = 30_000;

const toRetry = (connectionId: number, { chunk, counts, afterMs, alternates, onUnknown, ids }: Group) => ({
  accountId: chunk.accountId,
  connectionId,
  alternates,
  priority: chunk.priority,
  round: chunk.round,
  attempt: Math.min(MAX_ATTEMPT, chunk.attempt + 1),
  tries: chunk.tries + (counts ? 1 : 0),
  afterMs: counts ? afterMs : Math.max(afterMs, Math.min(MAX_BACKOFF_MS, afterMs * 2 ** Math.min(chunk.attempt, 16))),
  onUnknown,
  campaignId: chunk.campaignId,
  ids,
});

/**
 * Makes the chunk for the next connection. The connection that has rejected the messages is not among their alternates.
 */
function toNextConnection({ chunk, onUnknown, ids }: Group) {
  const [connectionId, ...alternates] = chunk.alternates;
  if (connectionId === undefined) return [];
  const { accountId, priority, attempt, campaignId } = chunk;
  const where = { accountId, connectionId, alternates, priority, campaignId };
  return [{ ...where, availableAt: null, attempt: attempt + 1, onUnknown, ids }];
}

const CHUNKS_PER_TRANSACTION = 100;

/**
 * Takes over the chunks of dead workers. Messages that may have been written and have no outcome become `unknown` (and
 * are sent once more where their chunk has `resubmit`); the others go back to the queue.
 *
 * @param settle records outcomes, and skips messages that have one already
 * @returns how many chunks were taken over, how many messages became unknown, and the connections that have work again
 */
export async function rescueChunks(
  pool: Pool,
  settle: Settle,
): Promise<{ chunks: number; unknown: number; connectionIds: number[] }> {
  if (!(await db.hasOrphanChunks(pool))) return { chunks: 0, unknown: 0, connectionIds: [] };
  return transaction(pool, async (tx) => {
    const orphans = await db.claimOrphanChunks(tx, CHUNKS_PER_TRANSACTION);
    const inDoubt = orphans.flatMap(inDoubtOf);
    const unknown: Recorded = inDoubt.length > 0 ? await settle(tx, inDoubt, true) : new Set();
    for (const orphan of orphans) {
      const { id, owner, intent, ids } = orphan;
      if (intent >= ids.length) await db.deleteChunks(tx, { owner, ids: [id] });
      else await db.moveChunkToQueue(tx, { owner, id, ids: ids.slice(intent) });
      if (orphan.onUnknown === 'resubmit') await resubmit(tx, orphan, unknown);
    }
    return {
      chunks: orphans.length,
      unknown: unknown === 'all' ? inDoubt.length : unknown.size,
      connectionIds: [...new Set(orphans.map((chunk) => chunk.connectionId))],
    };
  });
}

type Orphan = Awaited<ReturnType<typeof db.claimOrphanChunks>>[number];

const STOPPED = {
  kind: 'unknown',
  text: 'the worker stopped before the response was recorded',
  carrierIds: [],
} as const;

const inDoubtOf = ({ accountId, connectionId, attempt, onUnknown, intent, ids }: Orphan): Result[] =>
  ids.slice(0, intent).map((messageId) => ({
    accountId,
    messageId,
    connectionId,
    attempt: attempt + 1,
    outcome: STOPPED,
    answeredAt: new Date(),
    resubmit: onUnknown === 'resubmit',
    job: null,
  }));

/** Queues messages once more, for the same connection only; after a second `unknown` they are held. */
async function resubmit(tx: Db, { attempt, intent, ...chunk }: Orphan, unknown: Recorded): Promise<void> {
  const ids = chunk.ids.slice(0, intent).filter((id) => isRecorded(unknown, id));
  if (ids.length === 0) return;
  const again = { ...chunk, alternates: [], attempt: attempt + 1, afterMs: 0, onUnknown: 'hold' as const, ids };
  await db.insertRetryChunk(tx, again);
}

/**
 * Withdraws messages that wait in the queue, in the caller's transaction, which also sets their state. From then on
 * they are not written to a carrier: a worker must update the intent of the same row before it writes, and notices the
 * withdrawal there.
 *
 * @returns the ids of the messages that waited; the others may have reached a carrier, or have an outcome already
 */
export async function withdrawMessages(tx: Db, keys: readonly MessageKey[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set();
  const chunkIds = await claimChunksHolding(tx, keys);
  if (chunkIds.length === 0) return new Set();
  const withdrawn = await moveToWithdrawn(tx, { chunkIds, keys });
  await deleteEmptyChunks(tx, { chunkIds });
  return withdrawn;
}

/** Withdraws all messages that wait in the oldest `chunks` chunks of a campaign, claimed or not; returns their ids. */
export async function withdrawCampaignMessages(
  tx: Db,
  campaign: { readonly accountId: number; readonly campaignId: number },
  chunks: number,
): Promise<string[]> {
  const chunkIds = await claimCampaignChunks(tx, campaign, chunks);
  if (chunkIds.length === 0) return [];
  const withdrawn = await moveAllToWithdrawn(tx, { chunkIds });
  await deleteEmptyChunks(tx, { chunkIds });
  return withdrawn;
}

type MessageKey = { readonly accountId: number; readonly id: string };

const keysOf = (keys: readonly MessageKey[]) =>
  rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) });

/** Locks the chunks that contain any of these messages, lowest id first; returns the ids of the chunks. */
async function claimChunksHolding(db: Db, keys: readonly MessageKey[]): Promise<number[]> {
  const accountIds = [...new Set(keys.map((key) => key.accountId))];
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT c.id FROM dispatch_chunk c
        WHERE c.account_id = ANY(${plainArray(accountIds)}::bigint[]) AND EXISTS (
          SELECT FROM unnest(c.ids) AS m (id)
          JOIN ${keysOf(keys)} AS u ON u.id = m.id AND u.account_id = c.account_id)
        ORDER BY c.id FOR UPDATE OF c`,
  );
  return rows.map((row) => row.id);
}

/**
 * Marks messages as withdrawn in the locked chunks where they wait: behind the intent, so that no worker has written
 * them. Returns the ids of those messages.
 */
export async function moveToWithdrawn(
  db: Db,
  { chunkIds, keys }: { chunkIds: readonly number[]; keys: readonly MessageKey[] },
): Promise<Set<string>> {
  const rows = await many<{ ids: string }>(
    db,
    sql`UPDATE dispatch_chunk c SET withdrawn = coalesce(c.withdrawn, '{}') || hit.ids
        FROM (SELECT h.id, array_agg(m.id) AS ids
              FROM dispatch_chunk h CROSS JOIN unnest(h.ids[h.intent + 1:]) AS m (id)
              JOIN ${keysOf(keys)} AS u ON u.id = m.id AND u.account_id = h.account_id
              WHERE h.id = ANY(${plainArray(chunkIds)}::bigint[])
                AND (h.withdrawn IS NULL OR m.id <> ALL (h.withdrawn))
              GROUP BY h.id) AS hit
        WHERE c.id = hit.id
        RETURNING array_to_string(hit.ids, ',') AS ids`,
  );
  return new Set(rows.flatMap((row) => row.ids.split(',')));
}

/** Deletes those of the locked chunks that are unclaimed and contain only withdrawn messages. */
export async function deleteEmptyChunks(db: Db, { chunkIds }: { chunkIds: readonly number[] }): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM dispatch_chunk
        WHERE id = ANY(${plainArray(chunkIds)}::bigint[]) AND owner IS NULL
          AND cardinality(withdrawn) >= size AND ids <@ withdrawn`,
  );
}
