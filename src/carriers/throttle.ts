/** One pause for all connections of a carrier. */
export type Throttle = {
  /** Starts a pause of at least `minMs`, because the carrier is throttling. Does nothing during a pause. */
  pause(minMs?: number): void;
  /** Makes the next pause a short one again, because the carrier took a message. */
  resetBackoff(): void;
  /** Returns how much longer the pause lasts; 0 when there is none. */
  remainingMs(): number;
  /** Cancels the end of the pause: `onEnd` is not called any more. */
  stop(): void;
};

const MAX_PAUSE_MS = 30_000;

/**
 * Creates one pause for all connections of a carrier, since carriers count per account. The pause doubles from `baseMs`
 * to 30 s while the carrier refuses everything. One message that it takes between two pauses, or that was in flight
 * when the second began, makes the next one short again. Refusals of messages that were in flight when the pause began
 * do not lengthen it. `onEnd` is called when a pause ends.
 */
export function createThrottle(baseMs: number, onEnd: () => void): Throttle {
  let pauseMs = baseMs;
  let until = 0;
  let timer: NodeJS.Timeout | undefined;

  function remainingMs(): number {
    return until === 0 ? 0 : Math.max(1, Math.ceil(until - performance.now()));
  }

  function pause(minMs = 0): void {
    if (until !== 0) return;
    const currentMs = Math.max(pauseMs, minMs);
    until = performance.now() + currentMs;
    timer = setTimeout(end, currentMs);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }

  function end(): void {
    until = 0;
    onEnd();
  }

  function resetBackoff(): void {
    pauseMs = baseMs;
  }

  return { pause, resetBackoff, remainingMs, stop: () => clearTimeout(timer) };
}
