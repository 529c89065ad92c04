import type { Outcome, Submission } from '../channels/carrier.ts';
import type { Channel } from '../core/channels.ts';
import type { Chunk, OnUnknown } from './store.ts';

/** A number above all priorities: the best priority when no message waits. */
export const NO_PRIORITY = 32_767;
/** The priority of single sends, for which a share of each window and of each rate is reserved. */
export const URGENT = 0;
/** The priority of codes of verifications, which go before other single sends. */
export const CODE = -1;
/** True if a chunk holds single sends or codes. */
export const isUrgent = ({ priority }: { readonly priority: number }): boolean => priority <= URGENT;

/**
 * A message in the pump: the submission for the carrier, its share of the connection's rate, and the data for its
 * settlement.
 */
export type Job = Submission & {
  readonly parts: number;
  readonly priceMicros: number;
  readonly refundUndelivered: boolean;
  readonly channel: Channel;
  readonly campaignId: number | null;
  /** MCC and MNC of the network of its number, where the cost depends on it and it is known. */
  readonly network?: string;
  /** True if its price, when it is returned, stays reserved for its campaign. */
  readonly keepsReserve: boolean;
  /** The registration of its sender, if it has limits that all its messages share. */
  readonly registration?: LimitedRegistration;
  /** True if its recipient counts with it for the messaging limit of a portfolio (WhatsApp). */
  readonly isNewPerson?: boolean;
  /** The outcome of a message that cannot be submitted to the carrier. */
  readonly refusal?: Outcome;
};

/** The id of a registration, and its parts per second over one connection and per day; null: no limit. */
export type LimitedRegistration = {
  readonly id: number;
  readonly tps: number | null;
  readonly dailyCap: number | null;
};

/** A claimed chunk: `jobs[0]` to `jobs[written - 1]` may be with the carrier, the rest still waits here. */
export type HeldChunk = {
  readonly id: number;
  readonly accountId: number;
  readonly priority: number;
  readonly round: number;
  readonly attempt: number;
  readonly tries: number;
  /** The connections to which its messages may go when this one does not take them, best first. */
  readonly alternates: readonly number[];
  readonly onUnknown: OnUnknown;
  readonly campaignId: number | null;
  readonly jobs: readonly Job[];
  written: number;
  settled: number;
  /** Another worker has taken it over, because this one lost its session: no more of its messages may be written. */
  lost: boolean;
  /** Its campaign was paused: no more of its messages are written, and the rest goes back to the queue. */
  parked: boolean;
};

/**
 * The share of a window that is reserved for single sends: a one-time code is written while all other slots wait for
 * responses to bulk. Windows of fewer than ten reserve nothing.
 */
const KEPT_SHARE = 0.1;

/** Returns how many slots of a window are reserved for urgent messages. */
export const keptOf = (window: number): number => Math.floor(window * KEPT_SHARE);

/** Free slots: how many in all, and how many of them only urgent messages may take. */
export type Room = { readonly free: number; readonly kept: number };

/** A message that may be written next. */
export type Pick = { readonly chunk: HeldChunk; readonly job: Job };

/** The outcome of one message and the chunk that it belongs to. */
export type Settled = {
  readonly chunk: HeldChunk;
  readonly job: Job;
  /** Null when it was withdrawn before it was written. */
  readonly outcome: Outcome | null;
  /** Time at which the carrier's response arrived. */
  readonly answeredAt: Date;
  /** True if a `retry` goes to the next connection instead of this one. */
  readonly elsewhere: boolean;
};

/** The chunks that one pump holds, best first. Pure bookkeeping: no database, no carrier. */
export type Held = {
  add(chunk: Chunk, jobs: readonly Job[]): void;
  /** Adds a chunk whose messages are all written in this turn of the event loop: it never waits. */
  addWritten(chunk: Chunk, jobs: readonly Job[]): HeldChunk;
  /**
   * Returns as many next messages of eligible chunks as there is room for, best chunk first. A message that `allow`
   * rejects stops its chunk: those of senders with other limits are in other chunks. Changes nothing.
   */
  pick(room: Room, allow: (job: Job, isUrgent: boolean) => boolean, isEligible?: (chunk: HeldChunk) => boolean): Pick[];
  /** Returns how many messages wait, of these chunks or of all. */
  waiting(isCounted?: (chunk: HeldChunk) => boolean): number;
  /** Returns the best (lowest) priority number of the waiting messages; `NO_PRIORITY` when none waits. */
  bestPriority(): number;
  list(): readonly HeldChunk[];
  drop(chunk: HeldChunk): void;
};

export function createHeld(): Held {
  const chunks: HeldChunk[] = [];
  /** Chunks that never waited: there may be one for each slot of the window. */
  const written = new Set<HeldChunk>();
  const open = (): HeldChunk[] => chunks.filter((c) => !c.lost && !c.parked && c.written < c.jobs.length);
  return {
    add(chunk, jobs) {
      // The chunk was rescued and then claimed again by this very worker: the row knows its owner, not the claim.
      for (const old of chunks) if (old.id === chunk.id) old.lost = true;
      chunks.push(toHeld(chunk, jobs));
      chunks.sort((a, b) => a.priority - b.priority || a.round - b.round || a.id - b.id);
    },
    addWritten(chunk, jobs) {
      const held = toHeld(chunk, jobs);
      written.add(held);
      return held;
    },
    pick({ free, kept }, allow, isEligible = () => true) {
      const picks: Pick[] = [];
      for (const chunk of open().filter(isEligible)) {
        const urgent = isUrgent(chunk);
        const room = urgent ? free : free - kept;
        for (let i = chunk.written; i < chunk.jobs.length; i++) {
          const job = chunk.jobs[i] as Job;
          if (picks.length >= room) return picks;
          if (!allow(job, urgent)) break;
          picks.push({ chunk, job });
        }
      }
      return picks;
    },
    waiting: (isCounted = () => true) =>
      open()
        .filter(isCounted)
        .reduce((sum, c) => sum + c.jobs.length - c.written, 0),
    bestPriority: () => open()[0]?.priority ?? NO_PRIORITY,
    list: () => [...chunks, ...written],
    drop(chunk) {
      if (written.delete(chunk)) return;
      const at = chunks.indexOf(chunk);
      // `splice(-1)` would remove the last chunk, which would then never be sent.
      if (at !== -1) chunks.splice(at, 1);
    },
  };
}

function toHeld(chunk: Chunk, jobs: readonly Job[]): HeldChunk {
  const { id, accountId, priority, round, attempt, tries, alternates, onUnknown, campaignId } = chunk;
  const fixed = { id, accountId, priority, round, attempt, tries, alternates, onUnknown, campaignId, jobs };
  return { ...fixed, written: 0, settled: 0, lost: false, parked: false };
}

/** Returns, by chunk, how many messages will have been written once these picks are. */
export function intentsOf(picks: readonly Pick[]): Map<number, number> {
  const intents = new Map<number, number>();
  for (const { chunk } of picks) intents.set(chunk.id, (intents.get(chunk.id) ?? chunk.written) + 1);
  return intents;
}

/** True if all written messages have a committed outcome, and no more will be written here. */
export const isDone = (chunk: HeldChunk): boolean => chunk.settled === (chunk.lost ? chunk.written : chunk.jobs.length);

/** Returns the ids of the chunks whose last outcomes are among these. */
export function finishedBy(settled: readonly Settled[]): number[] {
  const counts = new Map<HeldChunk, number>();
  for (const { chunk } of settled) counts.set(chunk, (counts.get(chunk) ?? 0) + 1);
  return [...counts].filter(([c, n]) => !c.lost && c.settled + n === c.jobs.length).map(([c]) => c.id);
}
