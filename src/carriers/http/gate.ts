import type { Submission } from '../carrier.ts';
import type { Outcome } from '../outcome.ts';
import { createThrottle } from '../throttle.ts';

/** Which submits of an HTTP carrier go out now: so many at a time, none while it is shut or pauses. */
export type Gate = {
  room(): number;
  inFlight(): number;
  /** Sends through a place of the gate; resolves with what `send` does, never rejects. `send` must not throw at once. */
  pass(submission: Submission, send: (submission: Submission) => Promise<Outcome>): Promise<Outcome>;
  /** Lets submits through, or not: no token, a fault. Shut at first. */
  setOpen(open: boolean): void;
  isOpen(): boolean;
  /** The network asked for less. */
  pause(leastMs?: number): void;
  /** The network took a message. */
  flowing(): void;
  /** How long the pause lasts still. */
  pauseMs(): number;
  /** Aborted once it stops: nothing is begun any more, and nothing repeated. */
  readonly stopping: AbortSignal;
  /** Shuts for good; resolves when nothing is under way, or after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>;
};

const EXPIRED: Outcome = {
  kind: 'refused',
  status: 'EXPIRED',
  code: 'EXPIRED',
  text: 'The validity ended before it was sent',
  carrierIds: [],
};
const NO_ROOM: Outcome = { kind: 'retry', afterMs: 0, counts: false, code: 'NOT_SENT', text: 'No place is free' };

/** `grown` is called, at most once a tick, when `room()` or the state may have changed. */
export function createGate(
  options: { readonly places: number; readonly throttlePauseMs: number },
  grown: () => void,
): Gate {
  const throttle = createThrottle(options.throttlePauseMs, changed);
  const idle = Promise.withResolvers<void>();
  const stop = new AbortController();
  let used = 0;
  let open = false;
  let notified = false;

  function changed(): void {
    if (notified) return;
    notified = true;
    queueMicrotask(() => {
      notified = false;
      grown();
    });
  }

  function room(): number {
    return open && !stop.signal.aborted && throttle.remainingMs() === 0 ? Math.max(0, options.places - used) : 0;
  }

  async function pass(submission: Submission, send: (submission: Submission) => Promise<Outcome>): Promise<Outcome> {
    const { validUntil } = submission;
    if (validUntil !== null && validUntil.getTime() <= Date.now()) return EXPIRED;
    if (room() === 0) return NO_ROOM;
    used += 1;
    try {
      return await send(submission);
    } catch (error) {
      // Nobody knows how far it came: an error of ours is no reason to send a message twice.
      return { kind: 'unknown', text: error instanceof Error ? error.message : String(error), carrierIds: [] };
    } finally {
      used -= 1;
      if (used === 0 && stop.signal.aborted) idle.resolve();
      changed();
    }
  }

  async function drain(deadlineMs: number): Promise<void> {
    stop.abort();
    throttle.stop();
    if (used === 0) return;
    const timer = setTimeout(idle.resolve, deadlineMs);
    await idle.promise;
    clearTimeout(timer);
  }

  return {
    room,
    inFlight: () => used,
    pass,
    setOpen(next) {
      if (open !== next) changed();
      open = next;
    },
    isOpen: () => open && !stop.signal.aborted,
    pause: throttle.hit,
    flowing: throttle.ease,
    pauseMs: throttle.remainingMs,
    stopping: stop.signal,
    drain,
  };
}
