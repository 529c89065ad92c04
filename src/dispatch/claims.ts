import type { Pool } from 'pg';
import type { Carrier } from '../channels/carrier.ts';
import { createSignal, recordSingleSend } from '../core/background.ts';
import { endsOf, int, rowsOf, uuids } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { Log } from '../core/log.ts';
import { moveUnwrittenToQueue } from './express.ts';
import { type Held, type HeldChunk, isUrgent, type Job, NO_PRIORITY, URGENT } from './held.ts';
import * as db from './store.ts';
import { type Chunk, COPIED_COLUMNS, deleteChunks, moveChunkToQueue } from './store.ts';

export type ClaimDeps = {
  readonly pool: Pool;
  readonly connectionId: number;
  /** The key of this worker's advisory lock, which identifies it. */
  readonly owner: number;
  readonly carrier: Carrier;
  /** Parts per second over this connection, of all workers together; 0 means no limit. */
  readonly tps: number;
  /**
   * Loads the messages of each chunk, ready to submit and in the order of its ids; undefined for a message that is
   * gone.
   */
  readonly load: (chunks: readonly db.Chunk[]) => Promise<(Job | undefined)[][]>;
  /** Returns true if a message lacks facts that `load` reads, so that it has to be queued; false by default. */
  readonly mustLoad?: (job: Job) => boolean;
  /** Returns true if a message is so old that its row may have been deleted; false by default. */
  readonly mayBeGone?: (messageId: string) => boolean;
  readonly log: Log;
};

type Claimer = {
  readonly held: Held;
  /** Returns how many messages should be waiting in memory; with fewer, more are claimed. */
  lowWatermark(): number;
  /** Returns how many messages the rate allows per second. */
  perSecond(): number;
  /** Returns true if nothing may be written now: then messages that wait here go back to the queue. */
  isShut(): boolean;
  /** Returns true if messages of a chunk are about to be written. */
  isPicked(chunk: HeldChunk): boolean;
  /** Called when claimed messages are held; resolves when urgent ones are written, where they go before the rest. */
  onClaimed(): Promise<void>;
};

/** Mover of messages between the queue of a connection and the chunks that one pump holds. */
type Claims = {
  /** Checks the queue now, because messages may have arrived: single sends too, unless `areBulk`. */
  wake(areBulk?: boolean): void;
  /** Returns true if single sends may wait in the queue. */
  mayHaveUrgent(): boolean;
  /** Queues an express chunk, by its first message, if it was stored although the response to its commit was lost. */
  giveBackUnwritten(firstId: string): void;
  /**
   * Checks the queue now, unless enough messages wait here or the queue was empty a moment ago; also for single sends
   * that were left there, once those that waited here are written.
   */
  wakeIfLow(): void;
  /** Returns the rest of a chunk to the queue; it is then no longer held. */
  giveBack(chunk: HeldChunk): void;
  /** Returns all chunks to the queue whose written messages have their outcome. */
  release(): Promise<void>;
  /** Claims until `stop`. */
  run(): Promise<void>;
  stop(): void;
};

/** Longest wait without a wake-up. */
const POLL_MS = 2000;
/**
 * Time that an empty queue is assumed to stay empty. Querying it after each turn and each free slot costs a thirtieth
 * of PostgreSQL's work for an SMS campaign and a sixth for WhatsApp. Not where there is a rate: there, workers return
 * messages to the queue without a wake-up.
 */
const EMPTY_QUEUE_MS = 200;
/**
 * Maximum single sends that wait here when they are claimed during a claim of bulk. More would only wait: behind a full
 * window, and out of the reach of other workers.
 */
const MAX_URGENT = 100;

export function createClaims(deps: ClaimDeps, pump: Claimer): Claims {
  const { pool, connectionId, owner } = deps;
  const { held } = pump;
  const signal = createSignal();
  const urgentSignal = createSignal();
  /** The chunks that are no longer held here and not yet back in the queue. */
  const returning: HeldChunk[] = [];
  /**
   * True if this worker may own chunks that it does not hold: after a claim that failed, here or in an earlier pump.
   */
  let inDoubt = true;
  /** Time until which the queue is assumed to be empty, unless the pump is woken. */
  let emptyUntil = 0;
  /** True while a claim is under way, with all that follows it, and bulk is held or was claimed. */
  let isBusyWithBulk = false;
  let isClaimingUrgent = false;
  /** True if single sends may wait in the queue that were not claimed because others wait here. */
  let isUrgentLeft = false;
  /** Number of the last wake-up that may be about single sends, and of the last one whose single sends are all held. */
  let urgentWakes = 1;
  let urgentHeld = 0;
  /** The first messages of express chunks that may be stored and are not held. */
  let unwritten: string[] = [];
  let stopping = false;

  /**
   * Claims messages when fewer than the low watermark wait here, or when more urgent ones have arrived. Returns when to
   * claim again, in ms.
   */
  async function claim(): Promise<number> {
    await recover();
    if (pump.isShut()) return release().then(() => POLL_MS);
    const watermark = pump.lowWatermark();
    const needsMore = held.waiting() < watermark;
    const belowPriority = needsMore ? NO_PRIORITY : held.bestPriority();
    const messages = needsMore ? 2 * watermark : 1;
    if (belowPriority <= URGENT) isUrgentLeft = true;
    isBusyWithBulk = held.list().some(isBulk);
    const maxMessages = Math.max(2 * watermark, pump.perSecond());
    const wakes = urgentWakes;
    const chunks = await take({ connectionId, owner, messages, belowPriority }, maxMessages);
    const isAllUrgent = belowPriority > URGENT && (chunks.some(isBulk) || isShort(chunks, messages));
    if (needsMore && chunks.length === 0 && deps.tps === 0) emptyUntil = performance.now() + EMPTY_QUEUE_MS;
    isBusyWithBulk ||= chunks.some(isBulk);
    if (chunks.length > 0) await loadChunks(chunks);
    if (isAllUrgent) urgentHeld = wakes;
    if (chunks.length === 0) return (await db.findNextDueMs(pool, { connectionId })) ?? POLL_MS;
    await pump.onClaimed();
    return 0;
  }

  /**
   * Claims single sends while `claim` is busy: a claim of bulk, whose messages are read, takes up to 0.3 s on a busy
   * machine, and one of single sends goes on until their intents are committed, and takes none while others wait here.
   */
  async function claimUrgent(): Promise<void> {
    const messages = Math.min(2 * pump.lowWatermark(), MAX_URGENT) - held.waiting(isUrgent);
    isUrgentLeft = true;
    if (messages <= 0) return;
    const wakes = urgentWakes;
    const chunks = await db.claimChunks(pool, { connectionId, owner, messages, belowPriority: URGENT + 1 });
    if (chunks.length === 0) isUrgentLeft = false;
    else await loadChunks(chunks);
    if (isShort(chunks, messages)) urgentHeld = wakes;
    if (chunks.length === 0) return;
    await pump.onClaimed();
  }

  /**
   * Claims at most `maxMessages` messages. Where there is a rate, that is a second's worth: no other worker could send
   * more meanwhile, and other accounts would wait for it.
   */
  const take = (claimed: db.Claim, maxMessages: number): Promise<db.Chunk[]> =>
    Number.isFinite(maxMessages) ? db.claimMessages(pool, { ...claimed, maxMessages }) : db.claimChunks(pool, claimed);

  /**
   * Loads claimed chunks. An intent counts the ids of the row, so messages that are gone are first removed from the
   * row.
   */
  async function loadChunks(chunks: readonly db.Chunk[]): Promise<void> {
    if (chunks.some(isUrgent)) recordSingleSend();
    const loaded = await deps.load(chunks);
    for (const [i, chunk] of chunks.entries()) {
      const jobs = (loaded[i] ?? []).filter((job) => job !== undefined);
      if (jobs.length < chunk.ids.length) await dropMissing(deps, chunk, idsOf(jobs));
      else for (const part of await splitBySender(pool, deps, { chunk, jobs })) held.add(part.chunk, part.jobs);
    }
  }

  /** Returns waiting messages to the queue, so that a worker whose bind is up can take them. */
  async function release(): Promise<void> {
    for (const chunk of held.list().filter((c) => c.settled === c.written && !pump.isPicked(c))) {
      held.drop(chunk);
      if (!chunk.lost) returning.push(chunk);
    }
    await returnChunks();
    await returnUnwritten();
  }

  async function returnUnwritten(): Promise<void> {
    const firstIds = unwritten;
    if (firstIds.length === 0 || !(await moveUnwrittenToQueue(pool, { owner, connectionId, firstIds }))) return;
    unwritten = unwritten.slice(firstIds.length);
  }

  async function returnChunks(): Promise<void> {
    for (let [chunk] = returning; chunk; [chunk] = returning) {
      const ids = idsOf(chunk.jobs.slice(chunk.written));
      await db.moveChunkToQueue(pool, { owner, id: chunk.id, ids });
      returning.shift();
    }
  }

  /**
   * Repairs the effects of failed statements: no chunk stays with a worker that does not hold it. Not while another
   * claim is under way, whose chunks are not held yet; and none begins meanwhile.
   */
  async function recover(): Promise<void> {
    await returnChunks();
    await returnUnwritten();
    if (!inDoubt || isClaimingUrgent) return;
    await db.moveUnheldToQueue(pool, { owner, connectionId, heldIds: held.list().map((chunk) => chunk.id) });
    inDoubt = false;
  }

  const noteFailure = (err: unknown): void => {
    inDoubt = true;
    deps.log.error({ err, connectionId }, 'cannot claim from the queue');
  };

  async function claimAll(): Promise<void> {
    while (!stopping) {
      const waitMs = await claim().catch((err: unknown) => {
        noteFailure(err);
        return POLL_MS;
      });
      isBusyWithBulk = false;
      if (waitMs > 0 && !stopping) await signal.wait(Math.min(waitMs, POLL_MS));
    }
  }

  async function claimUrgentOnes(): Promise<void> {
    while (!stopping) {
      await urgentSignal.wait(POLL_MS);
      if (stopping || !isBusyWithBulk || inDoubt || pump.isShut()) continue;
      isClaimingUrgent = true;
      await claimUrgent().catch(noteFailure);
      isClaimingUrgent = false;
    }
  }

  return {
    wake(areBulk = false) {
      if (!areBulk) urgentWakes++;
      emptyUntil = 0;
      signal.raise();
      if (isBusyWithBulk) urgentSignal.raise();
    },
    wakeIfLow() {
      const isLow = held.waiting() < pump.lowWatermark() && performance.now() >= emptyUntil;
      const isUrgentDue = isUrgentLeft && held.bestPriority() > URGENT;
      if (isUrgentDue) isUrgentLeft = false;
      if (isLow || isUrgentDue || pump.isShut()) signal.raise();
    },
    mayHaveUrgent: () => urgentHeld !== urgentWakes || unwritten.length > 0,
    giveBackUnwritten(firstId) {
      unwritten = [...unwritten, firstId];
      signal.raise();
    },
    giveBack(chunk) {
      if (!chunk.lost) returning.push(chunk);
      signal.raise();
    },
    release,
    run: async () => void (await Promise.all([claimAll(), claimUrgentOnes()])),
    stop() {
      stopping = true;
      signal.raise();
      urgentSignal.raise();
    },
  };
}

/** True if a claim of this many messages has taken all that wait. */
const isShort = (chunks: readonly db.Chunk[], messages: number): boolean =>
  chunks.length < db.CHUNKS_PER_CLAIM && chunks.reduce((sum, { ids }) => sum + ids.length, 0) < messages;

const isBulk = (chunk: { readonly priority: number }): boolean => !isUrgent(chunk);

const idsOf = (jobs: readonly Job[]): string[] => jobs.map((job) => job.messageId);

type Deps = {
  readonly pool: Pool;
  readonly owner: number;
  readonly connectionId: number;
  readonly log: Log;
  /** Returns true if a message is so old that its row may have been deleted. */
  readonly mayBeGone?: (messageId: string) => boolean;
};

/**
 * Returns a claimed chunk to the queue with those of its messages that were found. The others should not be missing,
 * unless they are older than the retention: they were accepted for sending. Their ids are kept in `lost_chunk` and
 * reported.
 */
async function dropMissing(
  { pool, owner, connectionId, log, mayBeGone = () => false }: Deps,
  { id, ids }: Pick<Chunk, 'id' | 'ids'>,
  found: readonly string[],
): Promise<void> {
  const here = new Set(found);
  const lost = ids.filter((messageId) => !here.has(messageId) && !mayBeGone(messageId));
  await transaction(pool, async (tx) => {
    if (lost.length > 0) await insertLost(tx, { owner, id, ids: lost });
    if (found.length === 0) await deleteChunks(tx, { owner, ids: [id] });
    else await moveChunkToQueue(tx, { owner, id, ids: found });
  });
  if (lost.length === 0) return;
  log.error({ connectionId, messages: lost.length, messageId: lost[0] }, 'queued messages do not exist: not sent');
}

/** Keeps the ids of messages of a claimed chunk that were not found, which then leave the queue. */
async function insertLost(
  db: Db,
  { owner, id, ids }: { owner: number; id: number; ids: readonly string[] },
): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO lost_chunk (account_id, connection_id, campaign_id, priority, attempt, available_at, ids)
        SELECT account_id, connection_id, campaign_id, priority, attempt, available_at, ${plainArray(ids)}::uuid[]
        FROM dispatch_chunk WHERE id = ${id} AND owner = ${owner}`,
  );
}

const LOST_COUNT = columns({
  connectionId: as<number>('connection_id'),
  messages: as<number>('sum(cardinality(ids))::bigint'),
});

/** Counts the messages of each connection that were in the queue and not found. */
export const countLost = (db: Db): Promise<RowOf<typeof LOST_COUNT>[]> =>
  many(db, sql`SELECT ${LOST_COUNT} FROM lost_chunk GROUP BY connection_id`);

type Loaded = { readonly chunk: Chunk; readonly jobs: readonly Job[] };

/**
 * Divides a claimed chunk by the limits of its messages, where the network counts each sender separately. An intent
 * counts messages from the start of a chunk, so one whose sender must wait would hold back those of other senders
 * behind it.
 */
async function splitBySender(
  pool: Pool,
  { owner, carrier }: { readonly owner: number; readonly carrier: Carrier },
  { chunk, jobs }: Loaded,
): Promise<Loaded[]> {
  const groups = [...Map.groupBy(jobs, ({ sender }) => carrier.paceOf?.(sender)).values()];
  if (groups.length < 2) return [{ chunk, jobs }];
  const lists = groups.map((group) => group.map(({ messageId }) => messageId));
  const ids = await splitChunk(pool, { owner, id: chunk.id, lists });
  return ids.map((id, n) => ({
    chunk: { ...chunk, id, round: chunk.round + startOf(lists, n), ids: lists[n] ?? [] },
    jobs: groups[n] ?? [],
  }));
}

const startOf = (lists: readonly (readonly string[])[], n: number): number => lists.slice(0, n).flat().length;

/**
 * Divides a claimed, unwritten chunk: it keeps the messages of the first list, and each other list becomes a chunk of
 * the same owner, in the turn of its place. Returns the ids of the chunks in the order of the lists; none when the
 * chunk no longer belongs to this worker.
 */
export async function splitChunk(
  db: Db,
  { owner, id, lists }: { owner: number; id: number; lists: readonly (readonly string[])[] },
): Promise<number[]> {
  const ends = endsOf(lists);
  const rows = lists.map((list, n) => ({ n, size: list.length, last: ends[n] ?? 0 }));
  const found = await many<{ id: number; n: number }>(
    db,
    sql`WITH lists AS MATERIALIZED (
          SELECT u.n, u.size, u.last - u.size AS before, (${uuids(lists)})[u.last - u.size + 1:u.last] AS own
          FROM ${rowsOf(rows, { n: int((r) => r.n), size: int((r) => r.size), last: int((r) => r.last) })} AS u),
        kept AS (
          UPDATE dispatch_chunk c SET ids = l.own, size = l.size
          FROM lists l WHERE l.n = 0 AND c.id = ${id} AND c.owner = ${owner} AND c.intent = 0 RETURNING c.*),
        made AS (
          INSERT INTO dispatch_chunk (${COPIED_COLUMNS}, owner, round, size, ids)
          SELECT ${COPIED_COLUMNS}, kept.owner, kept.round + l.before, l.size, l.own
          FROM kept CROSS JOIN (SELECT n, size AS size, before, own FROM lists WHERE n > 0) AS l
          RETURNING id, ids[1] AS first)
        SELECT id, 0 AS n FROM kept
        UNION ALL SELECT m.id, l.n FROM made m JOIN lists l ON l.own[1] = m.first
        ORDER BY n`,
  );
  return found.map((row) => row.id);
}
