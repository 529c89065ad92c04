import type { Submission } from '../carrier.ts';
import type { Outcome } from '../outcome.ts';
import { createThrottle } from '../throttle.ts';

/** Limits the submits of an HTTP carrier: a fixed number at a time, none while the gate is closed or pausing. */
export type Gate = {
  /** Returns the number of free slots; 0 while the gate is closed or pausing. */
  room(): number;
  /** Returns the number of submits that hold a slot. */
  inFlight(): number;
  /**
   * Sends a message in a free slot and resolves with the outcome of `send`. Resolves with a refusal if the validity is
   * over, with `retry` if no slot is free, and with `unknown` if `send` rejects; never rejects.
   */
  pass(submission: Submission, send: (submission: Submission) => Promise<Outcome>): Promise<Outcome>;
  /** Opens or closes the gate, for example without a token or after a fault. It is closed at first. */
  setOpen(open: boolean): void;
  /** Returns true if the gate is open and not stopping. */
  isOpen(): boolean;
  /** Pauses for at least `minMs`, because the network is not available. */
  pause(minMs?: number): void;
  /** Shortens the next pause again, because the network took a message. */
  messageAccepted(): void;
  /** Returns the remaining time of the pause; 0 if there is none. */
  pauseMs(): number;
  /** Aborted when the gate drains: after that nothing is started or repeated. */
  readonly stopping: AbortSignal;
  /** Closes for good; resolves when nothing is in flight, or after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>;
};

const EXPIRED: Outcome = {
  kind: 'refused',
  status: 'EXPIRED',
  code: 'EXPIRED',
  text: 'The validity period ended before the message was sent',
  carrierIds: [],
};
const NO_FREE_SLOT: Outcome = { kind: 'retry', afterMs: 0, counts: false, code: 'NOT_SENT', text: 'No slot is free' };

/** Creates a closed gate. `onChange` is called, at most once per tick, when `room()` or the state may have changed. */
export function createGate(
  options: { readonly slots: number; readonly throttlePauseMs: number },
  onChange: () => void,
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
      onChange();
    });
  }

  function room(): number {
    return open && !stop.signal.aborted && throttle.pauseMs() === 0 ? Math.max(0, options.slots - used) : 0;
  }

  async function pass(submission: Submission, send: (submission: Submission) => Promise<Outcome>): Promise<Outcome> {
    const { validUntil } = submission;
    if (validUntil !== null && validUntil.getTime() <= Date.now()) return EXPIRED;
    if (room() === 0) return NO_FREE_SLOT;
    used += 1;
    try {
      return await send(submission);
    } catch (error) {
      // The message may have gone out: an error on our side is no reason to send it twice.
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
    pause: throttle.pause,
    messageAccepted: () => throttle.accepted(),
    pauseMs: throttle.pauseMs,
    stopping: stop.signal,
    drain,
  };
}
