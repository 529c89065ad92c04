import { type Db, exec, one, sql } from '../core/db/query.ts';
import { isSingleId } from '../core/ids.ts';
import { createTokenBucket } from '../core/limits.ts';
import type { Links, StoredEvent } from './event-types.ts';
import type { Form } from './events.ts';
import { createRowFill, type RowFill } from './outbox.ts';

/** Events in memory per concurrent request: enough for a quick receiver until more has been loaded. */
const EVENTS_PER_SLOT = 16;

/** An event in the memory of a worker. */
export type QueuedEvent = StoredEvent & {
  readonly accountId: number;
  /** The endpoint that it goes to (`ref`). */
  readonly endpoint: number;
  readonly id: string;
  readonly kind: string;
  /** The data of an event that is not about a message. */
  readonly data: object | null;
  /** Its place among the events of its message. */
  readonly seq: number;
  /** The outbox row it came from; null for a retry. */
  readonly outboxId: number | null;
  /** Failed attempts so far. */
  readonly attempts: number;
  /** Null: the message was deleted, or its client requested no events. */
  readonly facts: object | null;
};

/** Fields of every attempt. */
type Attempt = {
  /** Start of the attempt: `webhook-timestamp`. */
  readonly at: Date;
  readonly durationMs: number;
  /** The first bytes of the response body; null without a complete response. */
  readonly answer: string | null;
};

/** Result of an attempt to deliver an event. */
export type AttemptResult =
  | ({ readonly kind: 'acknowledged'; readonly code: number } & Attempt)
  | ({
      readonly kind: 'failed';
      readonly code: number | null;
      readonly reason: string | null;
      readonly retryAfterMs: number | null;
      /** The receiver wants no further events at all (410). */
      readonly unwanted: boolean;
    } & Attempt)
  /** Not sent: an earlier event of its message failed and is retried first. */
  | { readonly kind: 'behind' }
  /** Not sent: the webhook was deleted, its form has no such event, or its filters leave it out. */
  | { readonly kind: 'left out' }
  | { readonly kind: 'given up'; readonly reason: string };

/** Plans for the retries of failed events. */
export const RETRY_PLANS = ['none', 'short', 'full'] as const;
export type RetryPlan = (typeof RETRY_PLANS)[number];

/** The current destination for the events of an endpoint. */
export type Target = {
  readonly id: number;
  /** 0 for the webhook of the specification. */
  readonly ref: number;
  readonly url: string;
  readonly form: Form | 'V2';
  readonly secrets: readonly string[];
  /** Further headers of its requests. */
  readonly moreHeaders: Readonly<Record<string, string>>;
  readonly retry: RetryPlan;
  readonly showsAmounts: boolean;
  /** The most requests a second; null: any number. */
  readonly maxPerSecond: number | null;
  readonly fileUrl: Links['fileUrl'];
  /** Null without filters. */
  readonly accepts: ((event: QueuedEvent) => boolean) | null;
  /** Reason why it is disabled; null while it is active. */
  readonly disabledReason: string | null;
  readonly failingSince: Date | null;
  readonly updatedAt: Date;
};

/** The result of an event at a target; null: no target was involved. */
export type SettledEvent = {
  readonly event: QueuedEvent;
  readonly result: AttemptResult;
  readonly target: Target | null;
};

type AccountQueueDeps = {
  /** Makes one attempt to deliver an event; never rejects. */
  readonly send: (event: QueuedEvent, target: Target) => Promise<AttemptResult>;
  /** Returns how many requests one queue may have in flight, as its share of all queues. */
  readonly share: () => number;
  readonly onSettled: (settled: SettledEvent) => void;
};

/** Events of single sends go before all others that wait. */
export const LANES = ['single', 'other'] as const;
export type Lane = (typeof LANES)[number];

export const laneOf = (messageId: string): Lane => (isSingleId(messageId) ? 'single' : 'other');

/** The events of one endpoint in the memory of the one worker that owns its account. */
export type AccountQueue = {
  readonly accountId: number;
  readonly endpoint: number;
  /** Undefined: not loaded yet. Null: the account has none. */
  target: Target | null | undefined;
  /** Fill levels of the outbox rows of its lanes. */
  readonly fill: Readonly<Record<Lane, RowFill>>;
  add(events: readonly QueuedEvent[]): void;
  /** Starts as many requests of a lane as are allowed now; the lanes before it come first. */
  pump(lane: Lane): void;
  /** Call this when the failure of an event of this message is committed: the database now defers its later events. */
  release(messageId: string): void;
  /** Starts nothing more; requests in flight still settle. */
  close(): void;
  waiting(): number;
  inFlight(): number;
  /** Returns how many further events of a lane to load. */
  room(lane: Lane): number;
  isFailing(): boolean;
  /** Time at which it last became idle (performance.now()); null while it is busy. */
  idleSinceMs(): number | null;
};

/**
 * Sends the events of one endpoint: as many at the same time as its receiver can take, those of one message one at a
 * time and in order; no message waits for another. Those of single sends go first.
 */
export function createAccountQueue(
  { accountId, endpoint }: { readonly accountId: number; readonly endpoint: number },
  { send, share, onSettled }: AccountQueueDeps,
): AccountQueue {
  const concurrency = createConcurrency();
  const rate = createTokenBucket(0);
  const lanes: Record<Lane, QueuedEvent[]> = { single: [], other: [] };
  /** Messages with an event in flight, and the events that came after it. */
  const busy = new Map<string, QueuedEvent[]>();
  /** Messages with a failure that is not committed yet: events loaded meanwhile do not reflect it. */
  const failing = new Set<string>();
  let inFlightCount = 0;
  let closed = false;
  let idleSince: number | null = performance.now();

  function start(event: QueuedEvent, target: Target): void {
    inFlightCount++;
    rate.take(1);
    busy.set(event.messageId, []);
    void send(event, target).then((result) => {
      inFlightCount--;
      settle(event, result, target);
      LANES.forEach(self.pump);
    });
  }

  function settle(event: QueuedEvent, result: AttemptResult, target: Target): void {
    const { messageId } = event;
    const lane = laneOf(messageId);
    const followers = busy.get(messageId) ?? [];
    busy.delete(messageId);
    if (result.kind === 'acknowledged') concurrency.succeeded();
    if (result.kind !== 'failed') lanes[lane].unshift(...followers);
    else {
      concurrency.failed(performance.now(), isThrottle(result) ? (result.retryAfterMs ?? 0) : 0);
      failing.add(messageId);
      followers.push(...lanes[lane].filter((later) => later.messageId === messageId));
      lanes[lane] = lanes[lane].filter((later) => later.messageId !== messageId);
      for (const follower of followers) onSettled({ event: follower, result: { kind: 'behind' }, target });
    }
    onSettled({ event, result, target });
  }

  /** Returns true when the event was queued behind another or ended without being sent. */
  function put(event: QueuedEvent, target: Target | null): boolean {
    const followers = busy.get(event.messageId);
    if (followers) followers.push(event);
    else if (target === null || event.facts === null || target.accepts?.(event) === false)
      onSettled({ event, result: { kind: 'left out' }, target });
    else if (target.disabledReason !== null)
      onSettled({ event, result: { kind: 'given up', reason: target.disabledReason }, target });
    else return false;
    return true;
  }

  function setRate(target: Target | null): void {
    const perSecond = target?.maxPerSecond ?? 0;
    if (rate.perSecond() !== perSecond) rate.setRate(perSecond);
  }

  const waiting = (): number => lanes.single.length + lanes.other.length;

  const self: AccountQueue = {
    accountId,
    endpoint,
    target: undefined,
    fill: { single: createRowFill(), other: createRowFill() },
    add(events) {
      for (const event of events)
        if (failing.has(event.messageId)) onSettled({ event, result: { kind: 'behind' }, target: null });
        else lanes[laneOf(event.messageId)].push(event);
    },
    pump(lane) {
      const { target } = self;
      if (target === undefined || closed) return;
      setRate(target);
      const max = Math.min(concurrency.allowed(performance.now()), share());
      const queue = lanes[lane];
      let taken = 0;
      const mayGo = (): boolean => (inFlightCount < max && rate.ready()) || !isOpen(target);
      while (taken < queue.length && mayGo()) {
        const event = queue[taken++];
        if (event && !put(event, target) && target) start(event, target);
      }
      if (taken > 0) lanes[lane] = queue.slice(taken);
      if (waiting() + inFlightCount > 0) idleSince = null;
      else idleSince ??= performance.now();
    },
    release: (messageId) => void failing.delete(messageId),
    close() {
      closed = true;
    },
    waiting,
    inFlight: () => inFlightCount,
    // Events that will be given up do not wait for a pause.
    room: (lane) => {
      const atOnce = isOpen(self.target) ? Math.min(concurrency.allowed(performance.now()), share()) : MAX_CONCURRENCY;
      return atOnce * EVENTS_PER_SLOT > 2 * lanes[lane].length ? atOnce * EVENTS_PER_SLOT : 0;
    },
    isFailing: concurrency.isFailing,
    idleSinceMs: () => idleSince,
  };
  return self;
}

/** True if there may be a target to send to. */
const isOpen = (target: Target | null | undefined): boolean =>
  target === undefined || (target !== null && target.disabledReason === null);

/** The receiver is overloaded, whichever event it was. */
const isThrottle = ({ code }: Extract<AttemptResult, { kind: 'failed' }>): boolean => code === 429 || code === 503;

/** Concurrent requests to one receiver. */
export const MAX_CONCURRENCY = 64;
/** Initial limit, before the capacity of the receiver is known. */
export const INITIAL_CONCURRENCY = 8;
/**
 * A failure reduces the limit by an eighth: a receiver that fails every third event still gets a dozen at the same
 * time.
 */
const BACK_OFF_DIVISOR = 8;
/** After this many failures in a row the receiver gets a pause. */
const FAILURES_BEFORE_PAUSE = 10;
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;

/** The concurrency of one receiver: it rises while the receiver responds, falls after failures, and is 0 in a pause. */
export type Concurrency = {
  /** Returns how many requests may be in flight now. */
  allowed(nowMs: number): number;
  succeeded(): void;
  /** @param askedMs how long the receiver asked for a pause (Retry-After with 429 or 503); 0 without such a request */
  failed(nowMs: number, askedMs: number): void;
  /** Returns true if nothing has succeeded since the last failure. */
  isFailing(): boolean;
};

/**
 * Creates the circuit breaker of one receiver: a dead one costs at most one request a minute in the end, and one that
 * comes back reaches full concurrency after 64 responses.
 */
export function createConcurrency(): Concurrency {
  let limit = INITIAL_CONCURRENCY;
  let failures = 0;
  let pauses = 0;
  let pausedUntilMs = 0;

  const pause = (nowMs: number, ms: number): void => {
    pausedUntilMs = Math.max(pausedUntilMs, nowMs + ms);
  };
  return {
    allowed: (nowMs) => (nowMs < pausedUntilMs ? 0 : limit),
    succeeded() {
      limit = Math.min(limit + 1, MAX_CONCURRENCY);
      failures = 0;
      pauses = 0;
      pausedUntilMs = 0;
    },
    failed(nowMs, askedMs) {
      failures++;
      limit = Math.max(1, limit - Math.ceil(limit / BACK_OFF_DIVISOR));
      pause(nowMs, Math.min(askedMs, MAX_PAUSE_MS));
      // Requests that were in flight when the pause began may fail during it: they do not prolong it.
      if (failures < FAILURES_BEFORE_PAUSE || nowMs < pausedUntilMs) return;
      limit = 1;
      pause(nowMs, Math.min(FIRST_PAUSE_MS * 2 ** pauses, MAX_PAUSE_MS));
      pauses++;
    },
    isFailing: () => failures > 0,
  };
}

/** A registration: the account's webhook, unless it was replaced meanwhile. */
type Registration = { readonly accountId: number; readonly id: number };

/** Records that a webhook fails, from now on. */
export async function moveToFailing(db: Db, { accountId, id }: Registration): Promise<number> {
  return exec(
    db,
    sql`UPDATE webhook_endpoint SET failing_since = now()
        WHERE account_id = ${accountId} AND id = ${id} AND failing_since IS NULL`,
  );
}

/** Records that it has succeeded. */
export async function moveToSucceeding(db: Db, { accountId, id }: Registration): Promise<number> {
  return exec(
    db,
    sql`UPDATE webhook_endpoint SET failing_since = NULL
        WHERE account_id = ${accountId} AND id = ${id} AND failing_since IS NOT NULL`,
  );
}

/** Stops posting to it, until its owner or the operator enables it again. */
export async function moveToDisabled(
  db: Db,
  { accountId, id, reason }: Registration & { reason: string },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = ${reason}, updated_at = now(), since = now()
        WHERE account_id = ${accountId} AND id = ${id} AND status = 'active'`,
  );
}

/** Counts the disabled webhooks of all accounts. */
export async function countDisabled(db: Db): Promise<number> {
  const row = await one<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM webhook_endpoint WHERE status = 'disabled'`,
  );
  return row.count;
}
