import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Outcome } from '../channels/carrier.ts';
import {
  bulkSize,
  createGatherer,
  createSignal,
  isSendingSingles,
  SMALL_BATCH,
  type Task,
  yieldToSingles,
} from '../core/background.ts';
import { createTokenBucket } from '../core/limits.ts';
import type { Log } from '../core/log.ts';
import { SECOND_MS } from '../core/time.ts';
import { type ClaimDeps, createClaims } from './claims.ts';
import { commitTurn, listNextConnections, type OwnedChunks, rescueChunks, type Settle } from './commit.ts';
import { createLane, type Lane } from './express.ts';
import {
  createHeld,
  type HeldChunk,
  intentsOf,
  isDone,
  isUrgent,
  type Job,
  keptOf,
  type Pick,
  type Settled,
  URGENT,
} from './held.ts';
import { createBulkShare, createPacing } from './pacing.ts';
import * as db from './store.ts';

export type PumpDeps = ClaimDeps & {
  /** Wakes the pumps of another connection in all workers. */
  readonly wakeOther: (connectionId: number) => void;
  readonly settle: Settle;
  /** Called with the outcome of each message that was given to the carrier. */
  readonly onOutcome?: (job: Job, outcome: Outcome) => void;
  /** While it returns true, nothing is claimed or written, and held messages go back to the queue. */
  readonly paused?: () => boolean;
};

export type Pump = Lane & {
  /** Makes the pump check the queue and the carrier's room now. With `areBulk`, no single sends have been queued. */
  wake(areBulk?: boolean): void;
  /** Makes the pump check only the carrier's room: most changes of a carrier are free slots. */
  wakeForRoom(): void;
  /** Commits the outcomes that have arrived by now without waiting for more, and resolves when they are committed. */
  settled(): Promise<void>;
  /** Sets how many workers, including this one, share the rate of the connection. */
  shareRate(workers: number): void;
  /** Returns how many messages are at the carrier without an outcome, and how many are claimed but not written yet. */
  counts(): { inFlight: number; held: number };
  /**
   * Stops writing, waits up to `deadlineMs` for the carrier's responses, commits them and returns the rest to the
   * queue.
   */
  stop(deadlineMs: number): Promise<void>;
};

const OUTCOMES_PER_COMMIT = 1000;
/** Longest wait of the pump without a wake-up. */
const POLL_MS = 2000;
const FIRST_WAIT_MS = 50;
/** Outcomes arrive in bursts, one for each commit of the acceptance, 10 to 20 ms apart. */
const OUTCOMES_QUIET_MS = 20;

/**
 * Starts sending the queue of one connection: it claims chunks, commits an intent, writes the messages to the carrier
 * and commits their outcomes.
 *
 * Each turn is one transaction that commits the outcomes that have arrived and the next intents; urgent messages that
 * are claimed during a large one have their intents committed separately. An intent covers only free window slots whose
 * earlier outcomes are committed, so a crash leaves at most one window of messages in doubt.
 */
export function startPump(deps: PumpDeps): Pump {
  const { pool, carrier, connectionId, owner, paused = () => false } = deps;
  const held = createHeld();
  const bucket = createTokenBucket(deps.tps);
  const pacing = createPacing(carrier, bucket);
  const bulkShare = createBulkShare();
  const workSignal = createSignal();
  let outcomes: Settled[] = [];
  /** The chunks whose intents are being committed, with the number of messages to write as soon as they are. */
  const picked = new Map<HeldChunk, number>();
  let inFlight = 0;
  let uncommitted = 0;
  /** Number of outcomes that have arrived, and that are committed, and the calls that wait for some of them. */
  let arrived = 0;
  let committed = 0;
  let awaiting: { readonly until: number; readonly resolve: () => void }[] = [];
  /** True while the loop yields to single sends. */
  let resting = false;
  let stopping = false;
  let deadline = Number.POSITIVE_INFINITY;

  /** Returns how many messages the rate allows per second. */
  const perSecond = (): number => Math.ceil(bucket.perSecond()) || Number.POSITIVE_INFINITY;
  /** Returns how much of the window may be used: more at a time would only keep single sends waiting. */
  const usableWindow = (): number =>
    Math.min(carrier.room() + inFlight, isSendingSingles() ? bulkShare.maxUnderWay() : Number.POSITIVE_INFINITY);
  /** Returns how many messages should be waiting in memory; with fewer, more are claimed. */
  const lowWatermark = (): number => Math.max(1, Math.min(usableWindow(), perSecond()));

  /**
   * Returns how many of these free slots bulk would need to keep the carrier too busy, while single sends share the
   * connection.
   */
  const keptForSingles = (free: number): number =>
    isSendingSingles() ? free - (bulkShare.maxUnderWay() - inFlight) : 0;

  /** Returns how many slots are free, and not taken by messages whose intent or outcome is not committed. */
  const freeSlots = (): number =>
    carrier.room() -
    uncommitted -
    outcomes.length -
    lane.reserved() -
    picked.values().reduce((sum, count) => sum + count, 0);

  /** True if the outcomes are not to wait for others: for their slots, or for their commit itself. */
  const areAwaited = (): boolean =>
    stopping || awaiting.length > 0 || 2 * freeSlots() < carrier.room() + inFlight || held.waiting() > 0;
  const gatherer = createGatherer<null>(OUTCOMES_QUIET_MS, areAwaited);

  /** Picks the messages to be written next, and reserves their room until their intents are committed. */
  function pick(isEligible: (chunk: HeldChunk) => boolean): Pick[] {
    const free = freeSlots();
    if (stopping || paused() || free <= 0) return [];
    const room = { free, kept: Math.max(keptOf(carrier.room() + inFlight), keptForSingles(free)) };
    const picks = held.pick(room, pacing.allow, (chunk) => isEligible(chunk) && !picked.has(chunk));
    for (const { chunk } of picks) picked.set(chunk, (picked.get(chunk) ?? 0) + 1);
    return picks;
  }

  /** Writes the picked messages once their intents are committed. */
  function dispatchAll(picks: readonly Pick[], owned: OwnedChunks): void {
    for (const next of picks) dispatch(next, owned.get(next.chunk.id));
    for (const { chunk } of picks) picked.delete(chunk);
  }

  function record(settled: Settled): void {
    outcomes.push(settled);
    arrived++;
    gatherer.add(null);
  }

  function write({ chunk, job }: Pick): void {
    chunk.written++;
    inFlight++;
    const onAnswer = job.refusal ? undefined : bulkShare.written();
    void (job.refusal ? Promise.resolve(job.refusal) : carrier.submit(job)).then((outcome) => {
      inFlight--;
      onAnswer?.(outcome.kind === 'accepted');
      if (!job.refusal) deps.onOutcome?.(job, outcome);
      // The carrier had no room left: nothing was sent. A message that is rejected at its first part still uses up the
      // rate for all of its parts, which makes up for the parts of other messages that were sent twice.
      if (outcome.kind === 'retry' && outcome.code === 'NOT_SENT') pacing.giveBack(job);
      const verdict = verdictOf(outcome, chunk);
      record({ chunk, job, ...verdict, answeredAt: new Date() });
      workSignal.raise();
    });
  }

  /** Settles a message that was withdrawn while it waited here: it has its final state already. */
  function settleWithdrawn({ chunk, job }: Pick): void {
    chunk.written++;
    record({ chunk, job, outcome: null, answeredAt: new Date(), elsewhere: false });
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
   * Drops the chunks that are done, and returns those of paused campaigns and of accounts that leave once the messages
   * that were written have their outcome.
   */
  function dropEnded(): void {
    for (const chunk of held.list().filter(isDone)) held.drop(chunk);
    for (const chunk of held.list().filter((c) => c.parked && c.settled === c.written)) {
      held.drop(chunk);
      claims.giveBack(chunk);
    }
  }

  /** Does one turn and returns how many messages it handled. */
  async function turn(): Promise<number> {
    const settled = outcomes.slice(0, bulkSize(OUTCOMES_PER_COMMIT));
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
    committed += settled.length;
    releaseAwaiting();
    for (const { chunk } of settled) chunk.settled++;
    for (const id of listNextConnections(settled)) deps.wakeOther(id);
    // Messages that are sent again may be due before the next poll of the queue.
    if (settled.some(({ outcome }) => outcome?.kind === 'retry' || outcome?.kind === 'unknown')) claims.wake();
    dispatchAll(picks, owned);
    dropEnded();
    claims.wakeIfLow();
    return count;
  }

  /**
   * Writes urgent messages that were claimed during a large turn, with a separate commit: a one-time code does not wait
   * for the outcomes of hundreds of other messages. In small turns it would only add a commit.
   */
  async function writeUrgent(): Promise<void> {
    if (!resting && uncommitted + outcomes.length < SMALL_BATCH) return;
    const picks = pick(isUrgent);
    if (picks.length === 0) return;
    const intents = intentsOf(picks);
    dispatchAll(picks, await untilCommitted(() => db.updateIntents(pool, { owner, intents })));
    // Not left to the next turn, which may start much later.
    dropEnded();
  }

  /** Waits after a large turn of bulk: `writeUrgent` goes on meanwhile. */
  async function rest(beganAt: number): Promise<void> {
    resting = true;
    await yieldToSingles(beganAt);
    resting = false;
  }

  function releaseAwaiting(): void {
    for (const { until, resolve } of awaiting) if (until <= committed) resolve();
    awaiting = awaiting.filter(({ until }) => until > committed);
  }

  async function pumpLoop(): Promise<void> {
    while ((!stopping || inFlight + outcomes.length + lane.reserved() > 0) && performance.now() < deadline) {
      const beganAt = performance.now();
      const count = await turn();
      if (count === 0) await workSignal.wait(pacing.waitMs(POLL_MS));
      if (outcomes.length > 0 && outcomes.length < SMALL_BATCH) await gatherer.gather();
      if (count >= SMALL_BATCH && held.bestPriority() > URGENT) await rest(beganAt);
    }
  }

  const claims = createClaims(deps, {
    held,
    lowWatermark,
    perSecond,
    isShut: () => !carrier.state().up || paused(),
    isPicked: (chunk) => picked.has(chunk),
    async onClaimed() {
      await writeUrgent();
      workSignal.raise();
      gatherer.recheck();
    },
  });
  const lane = createLane({
    owner,
    held,
    isShut: () => stopping || paused(),
    freeSlots,
    mustLoad: deps.mustLoad ?? (() => false),
    allow: pacing.allow,
    giveBackTurn: pacing.giveBack,
    mayHaveUrgent: claims.mayHaveUrgent,
    writeAll(chunk) {
      for (const job of chunk.jobs) write({ chunk, job });
    },
    giveBack: claims.giveBack,
    giveBackUnwritten: claims.giveBackUnwritten,
    onReserved: gatherer.recheck,
    onFreed: workSignal.raise,
  });
  const running = Promise.all([pumpLoop(), claims.run()]);
  return {
    reserve: lane.reserve,
    wake(areBulk) {
      workSignal.raise();
      claims.wake(areBulk);
    },
    wakeForRoom: workSignal.raise,
    settled() {
      if (committed === arrived) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      awaiting.push({ until: arrived, resolve });
      gatherer.recheck();
      return promise;
    },
    shareRate(workers) {
      bucket.setRate(deps.tps / workers);
      pacing.share(workers);
      workSignal.raise();
    },
    counts: () => ({ inFlight, held: held.waiting() }),
    async stop(deadlineMs) {
      stopping = true;
      deadline = performance.now() + deadlineMs;
      workSignal.raise();
      gatherer.recheck();
      claims.stop();
      await carrier.stop(deadlineMs * 0.7);
      workSignal.raise();
      await running;
      committed = arrived;
      releaseAwaiting();
      await claims.release();
    },
  };
}

/** The outcome that is recorded, and whether the message goes to the chunk's next connection. */
type Verdict = { readonly outcome: Outcome; readonly elsewhere: boolean };

/** After this many temporary errors of one connection (five minutes at 5 s each) the message is treated as rejected. */
export const MAX_ERRORS = 60;
/** After this many "later" responses of one connection a message moves to another, if there is one. */
export const MAX_TRIES_BEFORE_MOVE = 2;

/**
 * Interprets a carrier's response for a message of this chunk. A message goes to another connection only when it was
 * certainly not accepted: after a rejection caused by the carrier and not by the message, or after too many "later"
 * responses. A message with outcome `unknown` stays.
 */
export function verdictOf(outcome: Outcome, { alternates, tries }: HeldChunk): Verdict {
  const canMove = alternates.length > 0;
  if (outcome.kind === 'refused' && outcome.elsewhere && canMove) {
    const { code, text } = outcome;
    return { outcome: { kind: 'retry', afterMs: 0, counts: true, code, text }, elsewhere: true };
  }
  if (outcome.kind !== 'retry' || !outcome.counts) return { outcome, elsewhere: false };
  if (canMove && tries + 1 >= MAX_TRIES_BEFORE_MOVE) return { outcome: { ...outcome, afterMs: 0 }, elsewhere: true };
  return { outcome: tries + 1 >= MAX_ERRORS ? refusal(outcome) : outcome, elsewhere: false };
}

const refusal = ({ code, text }: Extract<Outcome, { kind: 'retry' }>): Outcome => ({
  kind: 'refused',
  status: 'REJECTED',
  code,
  text,
  carrierIds: [],
});

/** The NOTIFY channel for new work in the queue; the payload is the id of the connection. */
export const WAKE_CHANNEL = 'heliograph_dispatch';

/** Wakes the pumps of a connection when its queue has work. */
export type Waker = {
  /**
   * Wakes the pumps in this process and in all others that may have the connection up. With `areBulk`, none of the new
   * messages are single sends.
   */
  wake(connectionId: number, areBulk?: boolean): void;
  /** Wakes only the pumps in this process: for a NOTIFY that was received. */
  wakeHere(connectionId: number): void;
  /** Sets whether workers in other processes may have the connection up; that is assumed until this is called. */
  setShared(connectionId: number, shared: boolean): void;
  /** Calls the listener at each wake-up; returns a function that removes it. */
  onWake(connectionId: number, listener: (areBulk: boolean) => void): () => void;
};

/**
 * Creates a waker. Pumps in this process are woken immediately. Other processes are woken by NOTIFY, which is sent
 * outside the transaction that accepts messages (inside, it would make all commits wait for one lock) and at most one
 * statement at a time, so that bursts become one statement. A NOTIFY may be lost with the process; the slow poll of the
 * pumps makes up for that.
 *
 * None is sent for a connection that only the worker in this process has up (`setShared`): that would be a transaction
 * for each batch of single sends, and a second look at the queue. A worker elsewhere checks the queue when its first
 * bind is up, and announces it then; until the announcement arrives here, the slow poll (2 s) makes up for missing
 * notifications.
 */
export function createWaker(pool: Pool): Waker {
  const local = new EventEmitter().setMaxListeners(0);
  const pending = new Set<number>();
  const onlyHere = new Set<number>();
  let sending = false;

  async function send(): Promise<void> {
    sending = true;
    while (pending.size > 0) {
      const ids = [...pending];
      pending.clear();
      await pool
        .query('SELECT pg_notify($1, id::text) FROM unnest($2::bigint[]) AS id', [WAKE_CHANNEL, ids])
        .catch(() => undefined);
    }
    sending = false;
  }

  const emit = (connectionId: number, areBulk: boolean): void => {
    local.emit(String(connectionId), areBulk);
  };
  return {
    wakeHere: (connectionId) => emit(connectionId, false),
    wake(connectionId, areBulk = false) {
      emit(connectionId, areBulk);
      if (onlyHere.has(connectionId)) return;
      pending.add(connectionId);
      if (!sending) void send();
    },
    setShared(connectionId, shared) {
      if (shared) onlyHere.delete(connectionId);
      else onlyHere.add(connectionId);
    },
    onWake(connectionId, listener) {
      local.on(String(connectionId), listener);
      return () => local.off(String(connectionId), listener);
    },
  };
}

type RescueDeps = {
  readonly pool: Pool;
  readonly waker: Waker;
  readonly settle: Settle;
  readonly log: Log;
};

/** Takes over the chunks of dead workers. */
export const dispatchTasks = ({ pool, waker, settle, log }: RescueDeps): Task[] => [
  {
    name: 'rescue',
    async work() {
      const { chunks, unknown, connectionIds } = await rescueChunks(pool, settle);
      if (chunks > 0) log.warn({ count: chunks, state: `${unknown} unknown` }, 'took over the chunks of a dead worker');
      for (const id of connectionIds) waker.wake(id);
      return chunks > 0 ? 0 : 0.8 * SECOND_MS;
    },
  },
];
