export type Throttle = {
  /** The carrier asked for less: everything pauses, for at least as long as it said. */
  hit(leastMs?: number): void;
  /** The carrier took a message: the next pause is a short one again. */
  ease(): void;
  /** How long the pause lasts still; 0 when there is none. */
  remainingMs(): number;
  stop(): void;
};

const LONGEST_PAUSE_MS = 30_000;

/**
 * One pause for all connections of a carrier, since carriers count by account. It doubles from
 * `baseMs` to 30 s while the carrier goes on refusing everything; one message that it takes between two pauses, or
 * that was under way when the second began, makes the next one short again. Refusals of what was under way when the
 * pause began do not lengthen it.
 */
export function createThrottle(baseMs: number, over: () => void): Throttle {
  let pauseMs = baseMs;
  let until = 0;
  let timer: NodeJS.Timeout | undefined;

  function remainingMs(): number {
    return until === 0 ? 0 : Math.max(1, Math.ceil(until - performance.now()));
  }

  function hit(leastMs = 0): void {
    if (until !== 0) return;
    const restMs = Math.max(pauseMs, leastMs);
    until = performance.now() + restMs;
    timer = setTimeout(end, restMs);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }

  function end(): void {
    until = 0;
    over();
  }

  function ease(): void {
    pauseMs = baseMs;
  }

  return { hit, ease, remainingMs, stop: () => clearTimeout(timer) };
}
