import { createPace, MOST_AT_ONCE } from './pace.ts';
import type { Facts, Form, Told } from './payload.ts';

/** Events in memory for each that may be under way: what a quick receiver takes until more has been loaded. */
const AHEAD = 16;

/** An event on its way to a webhook. */
export type LaneEvent = Told & {
  readonly accountId: number;
  readonly id: string;
  /** The order among the events of its message. */
  readonly seq: number;
  /** The row of the outbox that it came in; null when it came from those to be tried again. */
  readonly outboxId: number | null;
  /** Failed attempts so far. */
  readonly attempts: number;
  /** Null: the message is gone. */
  readonly facts: Facts | null;
};

/** What is known of every attempt. */
type Attempt = {
  /** When it began: `webhook-timestamp`. */
  readonly at: Date;
  readonly durationMs: number;
  /** The beginning of the answer's body; null without a complete answer. */
  readonly answer: string | null;
};

/** What was meant to happen next with an event, and did. */
export type Ending =
  | ({ readonly kind: 'acknowledged'; readonly code: number } & Attempt)
  | ({
      readonly kind: 'failed';
      readonly code: number | null;
      readonly reason: string | null;
      readonly retryAfterMs: number | null;
      /** The receiver wants no more callbacks at all (410). */
      readonly unwanted: boolean;
    } & Attempt)
  /** An earlier event of its message comes first, and is tried again later. */
  | { readonly kind: 'behind' }
  /** Nothing is sent: the webhook is gone, or its form has no such event. */
  | { readonly kind: 'left out' }
  | { readonly kind: 'given up'; readonly reason: string };

/** Where events of an account go at the moment. */
export type Target = {
  readonly id: number;
  readonly url: string;
  readonly form: Form;
  readonly secrets: readonly string[];
  /** Why it is disabled; null when it is not. */
  readonly disabledReason: string | null;
  readonly failingSince: Date | null;
};

/** What became of an event, and of which registration that is true; null: of none. */
export type Settled = { readonly event: LaneEvent; readonly ending: Ending; readonly target: Target | null };

export type LaneDeps = {
  /** Tries to deliver one event; never rejects. */
  readonly send: (event: LaneEvent, target: Target) => Promise<Ending>;
  /** How many requests of one lane may be under way, as far as the lanes together are concerned. */
  readonly share: () => number;
  readonly onSettled: (settled: Settled) => void;
};

/** The events of one account that are in memory, in the hands of one worker. */
export type Lane = {
  readonly accountId: number;
  /** Undefined: not looked up yet. Null: the account has none. */
  target: Target | null | undefined;
  add(events: readonly LaneEvent[]): void;
  /** Starts what may be started. */
  pump(): void;
  /** The failure of an event of this message is committed: from now on the database knows that others come behind. */
  release(messageId: string): void;
  /** Starts nothing more; what is under way still settles. */
  close(): void;
  waiting(): number;
  inFlight(): number;
  /** How many events more it should have in memory. */
  room(): number;
  isFailing(): boolean;
  /** Since when there has been nothing to do (performance.now()); null while there is. */
  idleSinceMs(): number | null;
};

/**
 * Sends the events of one account: as many at once as its receiver bears, of each message one at a time and in order,
 * and no message waits for another one.
 */
export function createLane(accountId: number, { send, share, onSettled }: LaneDeps): Lane {
  const pace = createPace();
  let queue: LaneEvent[] = [];
  /** Messages with an event under way, and the events that came behind it. */
  const busy = new Map<string, LaneEvent[]>();
  /** Messages whose event has failed, until that is committed: what is loaded meanwhile does not know of it. */
  const stuck = new Set<string>();
  let underWay = 0;
  let closed = false;
  let idleSince: number | null = performance.now();

  function start(event: LaneEvent, target: Target): void {
    underWay++;
    busy.set(event.messageId, []);
    void send(event, target).then((ending) => {
      underWay--;
      settle(event, ending, target);
      lane.pump();
    });
  }

  function settle(event: LaneEvent, ending: Ending, target: Target): void {
    const { messageId } = event;
    const followers = busy.get(messageId) ?? [];
    busy.delete(messageId);
    if (ending.kind === 'acknowledged') pace.succeeded();
    if (ending.kind !== 'failed') queue.unshift(...followers);
    else {
      pace.failed(performance.now(), isThrottle(ending) ? (ending.retryAfterMs ?? 0) : 0);
      stuck.add(messageId);
      followers.push(...queue.filter((waiting) => waiting.messageId === messageId));
      queue = queue.filter((waiting) => waiting.messageId !== messageId);
      for (const follower of followers) onSettled({ event: follower, ending: { kind: 'behind' }, target });
    }
    onSettled({ event, ending, target });
  }

  /** True when the event has found its place, or its end, without being sent. */
  function put(event: LaneEvent, target: Target | null): boolean {
    const followers = busy.get(event.messageId);
    if (followers) followers.push(event);
    else if (target === null || event.facts === null) onSettled({ event, ending: { kind: 'left out' }, target });
    else if (target.disabledReason !== null)
      onSettled({ event, ending: { kind: 'given up', reason: target.disabledReason }, target });
    else return false;
    return true;
  }

  const lane: Lane = {
    accountId,
    target: undefined,
    add(events) {
      for (const event of events)
        if (stuck.has(event.messageId)) onSettled({ event, ending: { kind: 'behind' }, target: null });
        else queue.push(event);
    },
    pump() {
      const { target } = lane;
      if (target === undefined || closed) return;
      const most = Math.min(pace.allowed(performance.now()), share());
      let taken = 0;
      while (taken < queue.length && (underWay < most || !isOpen(target))) {
        const event = queue[taken++];
        if (event && !put(event, target) && target) start(event, target);
      }
      if (taken > 0) queue = queue.slice(taken);
      const idle = queue.length + underWay === 0;
      if (!idle) idleSince = null;
      else idleSince ??= performance.now();
    },
    release: (messageId) => void stuck.delete(messageId),
    close() {
      closed = true;
    },
    waiting: () => queue.length,
    inFlight: () => underWay,
    // What is to be given up is not held up by a pause.
    room: () => {
      const atOnce = isOpen(lane.target) ? Math.min(pace.allowed(performance.now()), share()) : MOST_AT_ONCE;
      return atOnce * AHEAD > 2 * queue.length ? atOnce * AHEAD : 0;
    },
    isFailing: pace.isFailing,
    idleSinceMs: () => idleSince,
  };
  return lane;
}

/** Whether there may be anything to send to. */
const isOpen = (target: Target | null | undefined): boolean =>
  target === undefined || (target !== null && target.disabledReason === null);

/** It is too much for the receiver, whichever event it is. */
const isThrottle = ({ code }: Extract<Ending, { kind: 'failed' }>): boolean => code === 429 || code === 503;
