import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Carrier } from '../../carriers/carrier.ts';
import { giveWay, hasSingles, noteSingle, pieceOf } from '../../platform/lib/background/give-way.ts';
import { lingerAfter, SMALL_BATCH } from '../../platform/lib/background/linger.ts';
import { createSignal } from '../../platform/lib/background/signal.ts';
import { createTokenBucket } from '../../platform/lib/limits/token-bucket.ts';
import type { Log } from '../../platform/lib/log.ts';
import { createBulkShare } from './bulk-share.ts';
import { commitTurn, type OwnedChunks, type Settle } from './commit.ts';
import {
  createHeld,
  type HeldChunk,
  intentsOf,
  isDone,
  isUrgent,
  keptOf,
  type Job,
  NO_PRIORITY,
  URGENT,
  type Pick,
  type Settled,
} from './held.ts';
import { judge } from './judge.ts';
import { dropMissing } from './lost/drop-missing.ts';
import { createPacing } from './pacing.ts';
import { listNextConnections } from './requeue.ts';
import { splitBySender } from './split/split.ts';
import * as db from './sql.ts';

export type PumpDeps = {
  readonly pool: Pool;
  readonly connectionId: number;
  /** The key of this worker's advisory lock, which identifies it. */
  readonly owner: number;
  readonly carrier: Carrier;
  /** Parts per second over this connection, of all workers together; 0 means no limit. */
  readonly tps: number;
  /** Wakes the pumps of another connection in all workers. */
  readonly wakeOther: (connectionId: number) => void;
  /** Loads the messages of each chunk, ready to submit and in the order of its ids; undefined for a message that is gone. */
  readonly load: (chunks: readonly db.Chunk[]) => Promise<(Job | undefined)[][]>;
  readonly settle: Settle;
  /** Whether a message is so old that its row may have been deleted; never by default. */
  readonly mayBeGone?: (messageId: string) => boolean;
  /** While it returns true, nothing is claimed or written, and held messages go back to the queue. */
  readonly paused?: () => boolean;
  readonly log: Log;
};

export type Pump = {
  /** Makes the pump check the queue and the carrier's room now. */
  wake(): void;
  /** Makes the pump check only the carrier's room: most changes of a carrier are free slots. */
  wakeForRoom(): void;
  /** Sets how many workers, including this one, share the rate of the connection. */
  shareRate(workers: number): void;
  /** Returns how many messages are at the carrier without an outcome, and how many are claimed but not written yet. */
  counts(): { inFlight: number; held: number };
  /** Stops writing, waits up to `deadlineMs` for the carrier's answers, commits them and returns the rest to the queue. */
  stop(deadlineMs: number): Promise<void>;
};

const OUTCOMES_PER_COMMIT = 1000;
/** How long the pump waits at most when nobody wakes it. */
const POLL_MS = 2000;
const FIRST_WAIT_MS = 50;
/**
 * How long an empty queue is assumed to stay empty. Querying it after each turn and each free slot costs a thirtieth of
 * PostgreSQL's work for an SMS campaign and a sixth for WhatsApp. Not where there is a rate: there, workers return messages
 * to the queue without waking anybody.
 */
const EMPTY_QUEUE_MS = 200;

/**
 * Starts sending the queue of one connection: it claims chunks, commits an intent, writes the messages to the carrier and
 * commits their outcomes.
 *
 * Each turn is one transaction that commits the outcomes that have arrived and the next intents; urgent messages that are
 * claimed during a large one have their intents committed beside it. An intent covers only free
 * window slots whose earlier outcomes are committed, so a crash leaves at most one window of messages in doubt.
 */
export function startPump(deps: PumpDeps): Pump {
  const { pool, carrier, connectionId, owner, paused = () => false } = deps;
  const held = createHeld();
  const bucket = createTokenBucket(deps.tps);
  const pacing = createPacing(carrier, bucket);
  const bulkShare = createBulkShare();
  const workSignal = createSignal();
  const claimSignal = createSignal();
  let outcomes: Settled[] = [];
  /** The chunks whose intents are being committed, with how many messages may be written as soon as they are. */
  const picked = new Map<HeldChunk, number>();
  /** The chunks that are no longer held here and not yet back in the queue. */
  const returning: HeldChunk[] = [];
  /** Whether this worker may own chunks that it does not hold: after a claim that failed, here or in an earlier pump. */
  let claimInDoubt = true;
  /** Until then the queue is assumed to be empty, unless somebody wakes the pump. */
  let emptyUntil = 0;
  let inFlight = 0;
  let uncommitted = 0;
  /** Whether the loop gives way to single sends. */
  let resting = false;
  let stopping = false;
  let deadline = Number.POSITIVE_INFINITY;

  /** How many messages the rate allows per second. */
  const perSecond = (): number => Math.ceil(bucket.perSecond()) || Number.POSITIVE_INFINITY;
  /** How much of the window may be used: more at a time would only keep single sends waiting. */
  const usableWindow = (): number =>
    Math.min(carrier.room() + inFlight, hasSingles() ? bulkShare.maxUnderWay() : Number.POSITIVE_INFINITY);
  /** How many messages should be waiting in memory; with fewer, more are claimed. */
  const lowWatermark = (): number => Math.max(1, Math.min(usableWindow(), perSecond()));
  const isShut = (): boolean => !carrier.state().up || paused();

  /** While single sends share the connection, how many of these free slots bulk would need to keep the carrier too busy. */
  const keptForSingles = (free: number): number => (hasSingles() ? free - (bulkShare.maxUnderWay() - inFlight) : 0);

  /** Picks what may be written next, and reserves its room until its intents are committed. */
  function pick(isEligible: (chunk: HeldChunk) => boolean): Pick[] {
    const reserved = [...picked.values()].reduce((sum, count) => sum + count, 0);
    const free = carrier.room() - uncommitted - outcomes.length - reserved;
    if (stopping || paused() || free <= 0) return [];
    const room = { free, kept: Math.max(keptOf(carrier.room() + inFlight), keptForSingles(free)) };
    const picks = held.pick(room, pacing.allow, (chunk) => isEligible(chunk) && !picked.has(chunk));
    for (const { chunk } of picks) picked.set(chunk, (picked.get(chunk) ?? 0) + 1);
    return picks;
  }

  /** Writes what was picked once its intents are committed. */
  function dispatchAll(picks: readonly Pick[], owned: OwnedChunks): void {
    for (const next of picks) dispatch(next, owned.get(next.chunk.id));
    for (const { chunk } of picks) picked.delete(chunk);
  }

  function write({ chunk, job }: Pick): void {
    chunk.written++;
    inFlight++;
    const onAnswer = job.refusal ? undefined : bulkShare.written();
    void (job.refusal ? Promise.resolve(job.refusal) : carrier.submit(job)).then((outcome) => {
      inFlight--;
      onAnswer?.(outcome.kind === 'accepted');
      // The carrier had no room left: nothing was sent. A message that is refused at its first part still uses up the rate
      // for all of its parts, which makes up for the parts of other messages that were sent twice.
      if (outcome.kind === 'retry' && outcome.code === 'NOT_SENT') pacing.giveBack(job);
      const verdict = judge(outcome, chunk);
      outcomes.push({ chunk, job, outcome: verdict.outcome, elsewhere: verdict.elsewhere });
      workSignal.raise();
    });
  }

  /** A message that was withdrawn while it waited here has its final state already. */
  function settleWithdrawn({ chunk, job }: Pick): void {
    chunk.written++;
    outcomes.push({ chunk, job, outcome: null, elsewhere: false });
  }

  /** Repeats a commit while the database is unavailable: outcomes stay in memory until they are committed. */
  async function untilCommitted<T>(attempt: (again: boolean) => Promise<T>): Promise<T> {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, 2000)) {
      try {
        return await attempt(waitMs > FIRST_WAIT_MS);
      } catch (err) {
        if (performance.now() > deadline) throw err;
        deps.log.error({ err, connectionId }, 'cannot commit outcomes, trying again');
        await delay(waitMs);
      }
    }
  }

  /** Writes a picked message, unless its chunk is lost or parked, or the message was withdrawn. */
  function dispatch(next: Pick, owned: db.OwnedChunk | undefined): void {
    const { chunk, job } = next;
    if (owned === undefined || chunk.lost) chunk.lost = true;
    else if (owned.parked) {
      chunk.parked = true;
      pacing.giveBack(job);
    } else if (owned.withdrawn.includes(job.messageId)) settleWithdrawn(next);
    else write(next);
  }

  /**
   * Drops the chunks that are done, and returns those of paused campaigns and of accounts that leave once the messages that
   * were written have their outcome.
   */
  function dropEnded(): void {
    for (const chunk of held.list().filter(isDone)) held.drop(chunk);
    for (const chunk of held.list().filter((c) => c.parked && c.settled === c.written)) {
      held.drop(chunk);
      if (!chunk.lost) returning.push(chunk);
      claimSignal.raise();
    }
  }

  /** Does one turn and returns how many messages it was about. */
  async function turn(): Promise<number> {
    const settled = outcomes.slice(0, pieceOf(OUTCOMES_PER_COMMIT));
    outcomes = outcomes.slice(settled.length);
    uncommitted = settled.length;
    bulkShare.answered(settled.length);
    pacing.begin();
    const picks = pick(() => true);
    const count = settled.length + picks.length;
    if (count === 0) return 0;
    const intents = intentsOf(picks);
    const owned = await untilCommitted((again) => commitTurn(deps, { settled, intents }, again));
    uncommitted = 0;
    for (const { chunk } of settled) chunk.settled++;
    for (const id of listNextConnections(settled)) deps.wakeOther(id);
    // Messages that are sent again may be due before the next poll of the queue.
    if (settled.some(({ outcome }) => outcome?.kind === 'retry' || outcome?.kind === 'unknown')) claimSignal.raise();
    dispatchAll(picks, owned);
    dropEnded();
    const needsMore = held.waiting() < lowWatermark() && performance.now() >= emptyUntil;
    if (needsMore || isShut()) claimSignal.raise();
    return count;
  }

  /**
   * Writes urgent messages that were claimed during a large turn, with a commit of their own: a one-time code does not wait
   * for the outcomes of hundreds of other messages. In small turns it would only add a commit.
   */
  async function writeUrgent(): Promise<void> {
    if (!resting && uncommitted + outcomes.length < SMALL_BATCH) return;
    const picks = pick(isUrgent);
    if (picks.length === 0) return;
    const intents = intentsOf(picks);
    dispatchAll(picks, await untilCommitted(() => db.updateIntents(pool, { owner, intents })));
    // Not left to the next turn, which may be long in coming.
    dropEnded();
  }

  /** After a large turn of bulk: `writeUrgent` goes on meanwhile. */
  async function rest(beganAt: number): Promise<void> {
    resting = true;
    await giveWay(beganAt);
    resting = false;
  }

  async function pumpLoop(): Promise<void> {
    while ((!stopping || inFlight > 0 || outcomes.length > 0) && performance.now() < deadline) {
      const beganAt = performance.now();
      const count = await turn();
      if (count === 0) await workSignal.wait(pacing.waitMs(POLL_MS));
      else if (held.waiting() === 0) await lingerAfter(count, beganAt);
      if (count >= SMALL_BATCH && held.bestPriority() > URGENT) await rest(beganAt);
    }
  }

  /**
   * Claims messages when fewer than the low watermark wait here, or when more urgent ones have arrived. Returns when to
   * claim again, in ms.
   */
  async function claim(): Promise<number> {
    await recover();
    if (isShut()) return release().then(() => POLL_MS);
    const watermark = lowWatermark();
    const needsMore = held.waiting() < watermark;
    const belowPriority = needsMore ? NO_PRIORITY : held.bestPriority();
    claimInDoubt = true;
    const messages = needsMore ? 2 * watermark : 1;
    const chunks = await db.claimChunks(pool, { connectionId, owner, messages, belowPriority });
    if (chunks.length > 0) await loadChunks(await trim(chunks, Math.max(2 * watermark, perSecond())));
    claimInDoubt = false;
    await writeUrgent();
    if (needsMore && chunks.length === 0 && deps.tps === 0) emptyUntil = performance.now() + EMPTY_QUEUE_MS;
    if (chunks.length === 0) return (await db.findNextDueMs(pool, { connectionId })) ?? POLL_MS;
    workSignal.raise();
    return 0;
  }

  /**
   * Returns messages beyond `maxMessages` to the queue. Where there is a rate, that is more than one second's worth: no other
   * worker could send those meanwhile, and other accounts would wait for them.
   */
  async function trim(chunks: readonly db.Chunk[], maxMessages: number): Promise<db.Chunk[]> {
    const kept: db.Chunk[] = [];
    let room = maxMessages;
    for (const chunk of chunks) {
      const ids = chunk.ids.slice(0, room);
      if (ids.length < chunk.ids.length) await db.moveRestToQueue(pool, { owner, id: chunk.id, keep: ids.length });
      kept.push({ ...chunk, ids });
      room -= ids.length;
    }
    return kept;
  }

  /** Loads claimed chunks. An intent counts the ids of the row, so messages that are gone are first removed from the row. */
  async function loadChunks(chunks: readonly db.Chunk[]): Promise<void> {
    if (chunks.some(isUrgent)) noteSingle();
    const loaded = await deps.load(chunks);
    for (const [i, chunk] of chunks.entries()) {
      const jobs = (loaded[i] ?? []).filter((job) => job !== undefined);
      if (jobs.length < chunk.ids.length) await dropMissing(deps, chunk, idsOf(jobs));
      else for (const part of await splitBySender(pool, deps, { chunk, jobs })) held.add(part.chunk, part.jobs);
    }
  }

  /** Returns waiting messages to the queue, so that a worker whose bind is up can take them. */
  async function release(): Promise<void> {
    for (const chunk of held.list().filter((c) => c.settled === c.written && !picked.has(c))) {
      held.drop(chunk);
      if (!chunk.lost) returning.push(chunk);
    }
    await returnChunks();
  }

  async function returnChunks(): Promise<void> {
    for (let [chunk] = returning; chunk; [chunk] = returning) {
      const ids = idsOf(chunk.jobs.slice(chunk.written));
      await db.moveChunkToQueue(pool, { owner, id: chunk.id, ids });
      returning.shift();
    }
  }

  /** Repairs the effects of failed statements: no chunk stays with a worker that does not hold it. */
  async function recover(): Promise<void> {
    await returnChunks();
    if (!claimInDoubt) return;
    await db.moveUnheldToQueue(pool, { owner, connectionId, heldIds: held.list().map((chunk) => chunk.id) });
    claimInDoubt = false;
  }

  async function claimLoop(): Promise<void> {
    while (!stopping) {
      const waitMs = await claim().catch((err: unknown) => {
        deps.log.error({ err, connectionId }, 'cannot claim from the queue');
        return POLL_MS;
      });
      if (waitMs > 0 && !stopping) await claimSignal.wait(Math.min(waitMs, POLL_MS));
    }
  }

  const running = Promise.all([pumpLoop(), claimLoop()]);
  return {
    wake() {
      emptyUntil = 0;
      workSignal.raise();
      claimSignal.raise();
    },
    wakeForRoom: workSignal.raise,
    shareRate(workers) {
      bucket.setRate(deps.tps / workers);
      workSignal.raise();
    },
    counts: () => ({ inFlight, held: held.waiting() }),
    async stop(deadlineMs) {
      stopping = true;
      deadline = performance.now() + deadlineMs;
      workSignal.raise();
      claimSignal.raise();
      await carrier.stop(deadlineMs * 0.7);
      workSignal.raise();
      await running;
      await release();
    },
  };
}

const idsOf = (jobs: readonly Job[]): string[] => jobs.map((job) => job.messageId);
