import type { Submission } from '../../carriers/carrier.ts';
import type { Outcome } from '../../carriers/outcome.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import type { Chunk, OnUnknown } from './sql.ts';

/** Above every priority. */
export const NONE_WAITS = 32_767;

/** A message as the pump carries it: what the carrier gets, its cost in the connection's rate, and what settles it. */
export type Job = Submission & {
  readonly parts: number;
  readonly priceMicros: number;
  readonly refundUndelivered: boolean;
  readonly channel: Channel;
  readonly campaignId: number | null;
  /** What is given back of its price stays with its campaign. */
  readonly keepsReserve: boolean;
  /** Set when it cannot be sent: its outcome, and no carrier sees it. */
  readonly refusal?: Outcome;
};

/** A claimed chunk: jobs[0..written) may be with the carrier, the rest still waits here. */
export type HeldChunk = {
  readonly id: number;
  readonly accountId: number;
  readonly priority: number;
  readonly round: number;
  readonly attempt: number;
  readonly tries: number;
  /** Where its messages may go when this connection does not want them, best first. */
  readonly alternates: readonly number[];
  readonly onUnknown: OnUnknown;
  readonly campaignId: number | null;
  readonly jobs: readonly Job[];
  written: number;
  settled: number;
  /** Another worker took it over (this one lost its session): nothing more of it may be written. */
  lost: boolean;
  /** Its campaign was paused: nothing more of it is written, and what is left goes back to the queue. */
  parked: boolean;
};

export type Pick = { readonly chunk: HeldChunk; readonly job: Job };

/** The outcome of one message and the chunk that it came in. */
export type Settled = {
  readonly chunk: HeldChunk;
  readonly job: Job;
  /** Null when it was withdrawn before it was written. */
  readonly outcome: Outcome | null;
  /** A `retry` goes to the next connection instead of this one. */
  readonly elsewhere: boolean;
};

/** The chunks that one pump holds, best first. Pure bookkeeping: no database, no carrier. */
export type Held = {
  add(chunk: Chunk, jobs: readonly Job[]): void;
  /** Up to `room` next messages, best chunk first, while `allow(parts)` says so. Does not move anything. */
  pick(room: number, allow: (parts: number) => boolean): Pick[];
  waiting(): number;
  /** The best priority number among the messages that wait; `NONE_WAITS` when none does. */
  bestPriority(): number;
  list(): readonly HeldChunk[];
  drop(chunk: HeldChunk): void;
};

export function createHeld(): Held {
  const chunks: HeldChunk[] = [];
  const open = (): HeldChunk[] => chunks.filter((c) => !c.lost && !c.parked && c.written < c.jobs.length);
  return {
    add(chunk, jobs) {
      // Taken over by a rescue and claimed again by this very worker: the row is fenced on the owner, not on the claim.
      for (const old of chunks) if (old.id === chunk.id) old.lost = true;
      const { id, accountId, priority, round, attempt, tries, alternates, onUnknown, campaignId } = chunk;
      const fixed = { id, accountId, priority, round, attempt, tries, alternates, onUnknown, campaignId, jobs };
      chunks.push({ ...fixed, written: 0, settled: 0, lost: false, parked: false });
      chunks.sort((a, b) => a.priority - b.priority || a.round - b.round || a.id - b.id);
    },
    pick(room, allow) {
      const picks: Pick[] = [];
      for (const chunk of open()) {
        for (let i = chunk.written; i < chunk.jobs.length; i++) {
          const job = chunk.jobs[i] as Job;
          if (picks.length >= room || !allow(job.parts)) return picks;
          picks.push({ chunk, job });
        }
      }
      return picks;
    },
    waiting: () => open().reduce((sum, c) => sum + c.jobs.length - c.written, 0),
    bestPriority: () => open()[0]?.priority ?? NONE_WAITS,
    list: () => chunks,
    drop(chunk) {
      chunks.splice(chunks.indexOf(chunk), 1);
    },
  };
}

/** How far each picked chunk will have been written once these picks are. */
export function intentsOf(picks: readonly Pick[]): Map<number, number> {
  const intents = new Map<number, number>();
  for (const { chunk } of picks) intents.set(chunk.id, (intents.get(chunk.id) ?? chunk.written) + 1);
  return intents;
}

/** Everything of it that was written has a committed outcome, and nothing more of it will be written here. */
export const isDone = (chunk: HeldChunk): boolean => chunk.settled === (chunk.lost ? chunk.written : chunk.jobs.length);

/** The chunks whose last outcomes are among these. */
export function finishedBy(settled: readonly Settled[]): number[] {
  const counts = new Map<HeldChunk, number>();
  for (const { chunk } of settled) counts.set(chunk, (counts.get(chunk) ?? 0) + 1);
  return [...counts].filter(([c, n]) => !c.lost && c.settled + n === c.jobs.length).map(([c]) => c.id);
}
