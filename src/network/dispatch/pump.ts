import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Carrier } from '../../carriers/carrier.ts';
import type { Outcome } from '../../carriers/outcome.ts';
import type { Db } from '../../platform/db/query.ts';
import { burst, transaction } from '../../platform/db/transaction.ts';
import { createSignal } from '../../platform/lib/signal.ts';
import { createTokenBucket } from '../../platform/lib/token-bucket.ts';
import type { Log } from '../../platform/lib/log.ts';
import {
  createHeld,
  finishedBy,
  type HeldChunk,
  intentsOf,
  isDone,
  type Job,
  NONE_WAITS,
  type Pick,
  type Settled,
} from './held.ts';
import { judge } from './judge.ts';
import { nextConnectionsOf, requeue } from './requeue.ts';
import * as db from './sql.ts';

/** How the chunks stand that are still this worker's. */
type Mine = ReadonlyMap<number, db.Standing>;

type Commit = [
  settled: readonly Settled[],
  results: readonly Result[],
  intents: ReadonlyMap<number, number>,
  done: readonly number[],
];

/** What became of a message, for the feature that owns its state. */
export type Result = {
  readonly accountId: number;
  readonly messageId: string;
  readonly connectionId: number;
  /** Attempts made, this one included. */
  readonly attempt: number;
  readonly outcome: Outcome;
  /** An `unknown` is sent once more: whoever gets it may get it twice. */
  readonly resubmit: boolean;
  /** Null when a dead worker's message is given up: nobody holds it any more. */
  readonly job: Job | null;
};

/**
 * Records outcomes in the caller's transaction, as its last statements; answers the ids that were news. It may fail on
 * an outcome that is recorded already; with `again` it leaves that one alone. Without it, first outcomes are sent as a
 * `burst` wants it: every statement before it returns.
 */
export type Settle = (tx: Db, results: readonly Result[], again: boolean) => Promise<News>;

/** Ids, or all that were given: a set of a thousand fresh strings costs more than the message's share of the commit. */
export type News = ReadonlySet<string> | 'all';
export const isNews = (news: News, messageId: string): boolean => news === 'all' || news.has(messageId);

export type PumpDeps = {
  readonly pool: Pool;
  readonly connectionId: number;
  /** The advisory lock key of this worker. */
  readonly owner: number;
  readonly carrier: Carrier;
  /** Parts per second over this connection, of all workers together; 0 = no limit. */
  readonly tps: number;
  /** Wakes the pumps of another connection, here and elsewhere. */
  readonly wakeOther: (connectionId: number) => void;
  /** For each chunk its messages, ready to submit, each in the place of its id; undefined for one that is gone. */
  readonly load: (chunks: readonly db.Chunk[]) => Promise<(Job | undefined)[][]>;
  readonly settle: Settle;
  /** While it answers true nothing is claimed and nothing written; what is held goes back to the queue. */
  readonly paused?: () => boolean;
  readonly log: Log;
};

export type Pump = {
  /** Looks at the queue and at the carrier's room again. */
  wake(): void;
  /** Looks at the carrier's room alone: most of its changes are freed slots. */
  wakeForRoom(): void;
  /** So many workers, this one included, have the connection up: each takes its share of the rate. */
  shareRate(workers: number): void;
  counts(): { inFlight: number; held: number };
  /** Writes nothing more, lets the carrier answer or give up, commits that, returns the rest to the queue. */
  stop(deadlineMs: number): Promise<void>;
};

const SETTLE_BATCH = 1000;
/** For what nobody woke the pump for. */
const POLL_MS = 2000;
const FIRST_WAIT_MS = 50;
/**
 * A busy pump that asks an empty queue after each turn, and whenever a slot is freed, costs a thirtieth of PostgreSQL's
 * work for a campaign by SMS and a sixth by WhatsApp. Where there is a rate, workers give back to the queue, and nobody is
 * told.
 */
const EMPTY_MS = 200;

/**
 * Moves one connection's queue: claims chunks, commits the intent, writes, commits the outcomes.
 *
 * One transaction a turn settles what came back and commits the next intent. Intents are given only for free window
 * slots all of whose earlier outcomes are committed, so a crash leaves at most one window of messages in doubt.
 */
export function startPump(deps: PumpDeps): Pump {
  const { pool, carrier, connectionId, owner, paused = () => false } = deps;
  const held = createHeld();
  const bucket = createTokenBucket(deps.tps);
  const work = createSignal();
  const hunger = createSignal();
  let outcomes: Settled[] = [];
  /** Chunks of which an intent is being committed: they may be written to as soon as it is. */
  let picked: ReadonlySet<HeldChunk> = new Set();
  /** Chunks that are no longer held here and not yet back in the queue. */
  const leaving: HeldChunk[] = [];
  /** Chunks may be this worker's that it does not hold: a claim failed halfway, here or in the pump before this one. */
  let claimInDoubt = true;
  /** Until then the queue is taken to be as empty as it was found, unless somebody wakes the pump. */
  let emptyUntil = 0;
  let inFlight = 0;
  let uncommitted = 0;
  let stopping = false;
  let deadline = Number.POSITIVE_INFINITY;

  /** Messages that go in a second. */
  const perSecond = (): number => Math.ceil(bucket.perSecond()) || Number.POSITIVE_INFINITY;
  /** As many messages as should wait here at least. */
  const wanted = (): number => Math.max(1, Math.min(carrier.room() + inFlight, perSecond()));
  const isShut = (): boolean => !carrier.state().up || paused();
  const allow = (parts: number): boolean => {
    if (!bucket.ready()) return false;
    bucket.take(parts);
    return true;
  };

  function pick(): Pick[] {
    const room = carrier.room() - uncommitted - outcomes.length;
    return stopping || paused() || room <= 0 ? [] : held.pick(room, allow);
  }

  function write({ chunk, job }: Pick): void {
    chunk.written++;
    inFlight++;
    void (job.refusal ? Promise.resolve(job.refusal) : carrier.submit(job)).then((outcome) => {
      inFlight--;
      // The carrier had no room any more: nothing went out. A message refused at its first part pays for all of them,
      // which makes up for the later parts of others that were sent twice.
      if (outcome.kind === 'retry' && outcome.code === 'NOT_SENT') bucket.take(-job.parts);
      outcomes.push({ chunk, job, ...judge(outcome, chunk) });
      work.raise();
    });
  }

  /** Withdrawn while it waited here: its state says so already. */
  function pass({ chunk, job }: Pick): void {
    chunk.written++;
    outcomes.push({ chunk, job, outcome: null, elsewhere: false });
  }

  /** Commits outcomes and intents together; answers the chunks that are still this worker's. */
  function commit(settled: readonly Settled[], intents: ReadonlyMap<number, number>, again: boolean): Promise<Mine> {
    const results = resultsOf(settled, connectionId);
    const done = finishedBy(settled);
    const first = !again && results.every((result) => result.attempt === 1);
    return first ? commitFirst(settled, results, intents, done) : commitAgain(settled, results, intents, done, again);
  }

  /** The common case in one trip: first outcomes are all news, so no statement needs the answer of another. */
  async function commitFirst(...[settled, results, intents, done]: Commit): Promise<Mine> {
    const [mine] = await burst(pool, (tx) => [
      intents.size === 0 ? Promise.resolve<Mine>(new Map()) : db.moveIntents(tx, { owner, intents }),
      done.length === 0 ? Promise.resolve() : db.deleteChunks(tx, { owner, ids: done }),
      requeue(tx, connectionId, settled),
      results.length === 0 ? Promise.resolve() : deps.settle(tx, results, false),
    ]);
    return mine;
  }

  function commitAgain(...[settled, results, intents, done, again]: [...Commit, boolean]): Promise<Mine> {
    return transaction(pool, async (tx) => {
      const mine: Mine = intents.size === 0 ? new Map() : await db.moveIntents(tx, { owner, intents });
      if (done.length > 0) await db.deleteChunks(tx, { owner, ids: done });
      if (results.length === 0) return mine;
      // A commit that is repeated because its answer was lost finds nothing to queue a second time.
      const news = await deps.settle(tx, results, again);
      const recorded = settled.filter(({ job }) => isNews(news, job.messageId));
      await requeue(tx, connectionId, recorded);
      return mine;
    });
  }

  /** The database may be away: outcomes stay here and are tried again until they are committed. */
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

  /** What becomes of a message whose turn has come, as its chunk stands. */
  function go(next: Pick, standing: db.Standing | undefined): void {
    const { chunk, job } = next;
    if (standing === undefined || chunk.lost) chunk.lost = true;
    else if (standing.parked) {
      chunk.parked = true;
      bucket.take(-job.parts);
    } else if (standing.withdrawn.includes(job.messageId)) pass(next);
    else write(next);
  }

  /** A paused campaign's chunks go back once what was written of them has its outcome. */
  function leaveParked(): void {
    for (const chunk of held.list().filter((c) => c.parked && c.settled === c.written)) {
      held.drop(chunk);
      if (!chunk.lost) leaving.push(chunk);
      hunger.raise();
    }
  }

  async function turn(): Promise<boolean> {
    const settled = outcomes.slice(0, SETTLE_BATCH);
    outcomes = outcomes.slice(settled.length);
    uncommitted = settled.length;
    const picks = pick();
    if (settled.length + picks.length === 0) return false;
    picked = new Set(picks.map(({ chunk }) => chunk));
    const mine = await untilCommitted((again) => commit(settled, intentsOf(picks), again));
    uncommitted = 0;
    for (const { chunk } of settled) chunk.settled++;
    for (const id of nextConnectionsOf(settled)) deps.wakeOther(id);
    // What goes out again has its time, which may come before the next look at the queue.
    if (settled.some(({ outcome }) => outcome?.kind === 'retry' || outcome?.kind === 'unknown')) hunger.raise();
    for (const next of picks) go(next, mine.get(next.chunk.id));
    picked = new Set();
    for (const chunk of held.list().filter(isDone)) held.drop(chunk);
    leaveParked();
    const hungry = held.waiting() < wanted() && performance.now() >= emptyUntil;
    if (hungry || isShut()) hunger.raise();
    return true;
  }

  async function pumpLoop(): Promise<void> {
    while ((!stopping || inFlight > 0 || outcomes.length > 0) && performance.now() < deadline)
      if (!(await turn())) await work.wait(bucket.ready() ? POLL_MS : Math.max(5, bucket.waitMs()));
  }

  /** Claims when less than is wanted waits here, or when something more urgent than what waits here has come. */
  async function feed(): Promise<number> {
    await recover();
    if (isShut()) return release().then(() => POLL_MS);
    const want = wanted();
    const hungry = held.waiting() < want;
    const belowPriority = hungry ? NONE_WAITS : held.bestPriority();
    claimInDoubt = true;
    const messages = hungry ? 2 * want : 1;
    const chunks = await db.claimChunks(pool, { connectionId, owner, messages, belowPriority });
    if (chunks.length > 0) await hold(await cut(chunks, Math.max(2 * want, perSecond())));
    claimInDoubt = false;
    if (hungry && chunks.length === 0 && deps.tps === 0) emptyUntil = performance.now() + EMPTY_MS;
    if (chunks.length === 0) return (await db.findNextDueMs(pool, { connectionId })) ?? POLL_MS;
    work.raise();
    return 0;
  }

  /**
   * Gives back what is beyond `most` messages. Where there is a rate, that is more than goes in a second: no other worker
   * could send it meanwhile, and other accounts would wait for it.
   */
  async function cut(chunks: readonly db.Chunk[], most: number): Promise<db.Chunk[]> {
    const kept: db.Chunk[] = [];
    let room = most;
    for (const chunk of chunks) {
      const ids = chunk.ids.slice(0, room);
      if (ids.length < chunk.ids.length) await db.moveRestToQueue(pool, { owner, id: chunk.id, keep: ids.length });
      kept.push({ ...chunk, ids });
      room -= ids.length;
    }
    return kept;
  }

  /** An intent counts the ids of the row: a chunk with messages that are gone is cut to the others before its turn. */
  async function hold(chunks: readonly db.Chunk[]): Promise<void> {
    const loaded = await deps.load(chunks);
    for (const [i, chunk] of chunks.entries()) {
      const jobs = (loaded[i] ?? []).filter((job) => job !== undefined);
      const { id } = chunk;
      if (jobs.length === 0) await db.deleteChunks(pool, { owner, ids: [id] });
      else if (jobs.length < chunk.ids.length)
        await db.moveChunkToQueue(pool, { owner, id, ids: jobs.map((job) => job.messageId) });
      else held.add(chunk, jobs);
    }
  }

  /** While the carrier is away, a worker whose bind is up may take what waits here. */
  async function release(): Promise<void> {
    for (const chunk of held.list().filter((c) => c.settled === c.written && !picked.has(c))) {
      held.drop(chunk);
      if (!chunk.lost) leaving.push(chunk);
    }
    await giveBack();
  }

  async function giveBack(): Promise<void> {
    for (let [chunk] = leaving; chunk; [chunk] = leaving) {
      const ids = chunk.jobs.slice(chunk.written).map((job) => job.messageId);
      await db.moveChunkToQueue(pool, { owner, id: chunk.id, ids });
      leaving.shift();
    }
  }

  /** Makes good what failed on the way to the database or back: no chunk stays with a worker that does not hold it. */
  async function recover(): Promise<void> {
    await giveBack();
    if (!claimInDoubt) return;
    await db.moveUnheldToQueue(pool, { owner, connectionId, heldIds: held.list().map((chunk) => chunk.id) });
    claimInDoubt = false;
  }

  async function feedLoop(): Promise<void> {
    while (!stopping) {
      const waitMs = await feed().catch((err: unknown) => {
        deps.log.error({ err, connectionId }, 'cannot claim from the queue');
        return POLL_MS;
      });
      if (waitMs > 0 && !stopping) await hunger.wait(Math.min(waitMs, POLL_MS));
    }
  }

  const running = Promise.all([pumpLoop(), feedLoop()]);
  return {
    wake() {
      emptyUntil = 0;
      work.raise();
      hunger.raise();
    },
    wakeForRoom: work.raise,
    shareRate(workers) {
      bucket.setRate(deps.tps / workers);
      work.raise();
    },
    counts: () => ({ inFlight, held: held.waiting() }),
    async stop(deadlineMs) {
      stopping = true;
      deadline = performance.now() + deadlineMs;
      work.raise();
      hunger.raise();
      await carrier.stop(deadlineMs * 0.7);
      work.raise();
      await running;
      await release();
    },
  };
}

function resultsOf(settled: readonly Settled[], connectionId: number): Result[] {
  const results: Result[] = [];
  for (const { chunk, job, outcome } of settled) {
    if (outcome === null) continue;
    const { accountId, attempt, onUnknown } = chunk;
    const resubmit = outcome.kind === 'unknown' && onUnknown === 'resubmit';
    results.push({ accountId, messageId: job.messageId, connectionId, attempt: attempt + 1, outcome, resubmit, job });
  }
  return results;
}
