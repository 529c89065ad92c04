import { setTimeout as delay } from 'node:timers/promises';
import { giveWay, hasSingles, pieceOf } from '../../platform/lib/background/give-way.ts';
import { lingerAfter, SMALL_BATCH } from '../../platform/lib/background/linger.ts';
import { createSignal } from '../../platform/lib/background/signal.ts';
import { createTokenBucket } from '../../platform/lib/limits/token-bucket.ts';
import { createBulkShare } from './bulk-share.ts';
import { type ClaimDeps, createClaims } from './claims.ts';
import { commitTurn, type OwnedChunks, type Settle } from './commit.ts';
import {
  createHeld,
  type HeldChunk,
  intentsOf,
  isDone,
  isUrgent,
  keptOf,
  URGENT,
  type Pick,
  type Settled,
} from './held.ts';
import { judge } from './judge.ts';
import { createPacing } from './pacing.ts';
import { listNextConnections } from './requeue.ts';
import * as db from './sql.ts';

export type PumpDeps = ClaimDeps & {
  /** Wakes the pumps of another connection in all workers. */
  readonly wakeOther: (connectionId: number) => void;
  readonly settle: Settle;
  /** While it returns true, nothing is claimed or written, and held messages go back to the queue. */
  readonly paused?: () => boolean;
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
  /** True while the loop yields to single sends. */
  let resting = false;
  let stopping = false;
  let deadline = Number.POSITIVE_INFINITY;

  /** Returns how many messages the rate allows per second. */
  const perSecond = (): number => Math.ceil(bucket.perSecond()) || Number.POSITIVE_INFINITY;
  /** Returns how much of the window may be used: more at a time would only keep single sends waiting. */
  const usableWindow = (): number =>
    Math.min(carrier.room() + inFlight, hasSingles() ? bulkShare.maxUnderWay() : Number.POSITIVE_INFINITY);
  /** Returns how many messages should be waiting in memory; with fewer, more are claimed. */
  const lowWatermark = (): number => Math.max(1, Math.min(usableWindow(), perSecond()));

  /**
   * Returns how many of these free slots bulk would need to keep the carrier too busy, while single sends share the
   * connection.
   */
  const keptForSingles = (free: number): number => (hasSingles() ? free - (bulkShare.maxUnderWay() - inFlight) : 0);

  /** Picks the messages to be written next, and reserves their room until their intents are committed. */
  function pick(isEligible: (chunk: HeldChunk) => boolean): Pick[] {
    const reserved = [...picked.values()].reduce((sum, count) => sum + count, 0);
    const free = carrier.room() - uncommitted - outcomes.length - reserved;
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

  function write({ chunk, job }: Pick): void {
    chunk.written++;
    inFlight++;
    const onAnswer = job.refusal ? undefined : bulkShare.written();
    void (job.refusal ? Promise.resolve(job.refusal) : carrier.submit(job)).then((outcome) => {
      inFlight--;
      onAnswer?.(outcome.kind === 'accepted');
      // The carrier had no room left: nothing was sent. A message that is rejected at its first part still uses up the
      // rate for all of its parts, which makes up for the parts of other messages that were sent twice.
      if (outcome.kind === 'retry' && outcome.code === 'NOT_SENT') pacing.giveBack(job);
      const verdict = judge(outcome, chunk);
      outcomes.push({ chunk, job, outcome: verdict.outcome, elsewhere: verdict.elsewhere });
      workSignal.raise();
    });
  }

  /** Settles a message that was withdrawn while it waited here: it has its final state already. */
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

  const claims = createClaims(deps, {
    held,
    lowWatermark,
    perSecond,
    isShut: () => !carrier.state().up || paused(),
    isPicked: (chunk) => picked.has(chunk),
    async onClaimed() {
      await writeUrgent();
      workSignal.raise();
    },
  });
  const running = Promise.all([pumpLoop(), claims.run()]);
  return {
    wake() {
      workSignal.raise();
      claims.wake();
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
      claims.stop();
      await carrier.stop(deadlineMs * 0.7);
      workSignal.raise();
      await running;
      await claims.release();
    },
  };
}
