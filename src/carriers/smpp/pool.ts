import type { Session } from './session.ts';
import { createThrottle, type Throttle } from '../throttle.ts';

/** A bind that takes submits, and the number of messages that hold one of its window slots. */
export type PoolBind = { readonly session: Session; used: number };

/** A message's slot in a window. The message keeps it for all its parts, and may move to another bind between them. */
export type Slot = { bind: PoolBind };

/** The windows of a carrier's binds, taken together. */
export type Pool = {
  /** Returns the number of free slots on binds that are up; 0 during a pause. */
  room(): number;
  /** Returns the number of slots in use. */
  inFlight(): number;
  /** Returns the number of binds that are up. */
  bindsUp(): number;
  /** Claims a slot on the bind with the most room; null if there is none. */
  claim(): Slot | null;
  /** Returns a slot to its bind. */
  release(slot: Slot): void;
  /**
   * Resolves with `go` when the next part may be sent: `delayMs` and every pause are over, and the slot is on a bind
   * that is up. Resolves with `expired` at `until`, and with `stopped` when the pool stops.
   */
  ready(slot: Slot, delayMs: number, until: Date | null): Promise<'go' | 'expired' | 'stopped'>;
  /** The limit of all binds, since carriers count per account. */
  readonly throttle: Throttle;
  /** Must be called when a bind comes up, goes down, or accepts octets again. */
  changed(): void;
  /** Stops claims; resolves when every slot is free, or after `deadlineMs`, when waiting parts give up. */
  drain(deadlineMs: number): Promise<void>;
};

/** Interval at which a waiting part checks its validity when nothing changes. */
const VALIDITY_CHECK_MS = 1000;

/** Creates the pool of a carrier's binds. `onChange` is called, at most once per tick, when `room()` may have grown. */
export function createPool(
  sessions: readonly Session[],
  options: { readonly throttlePauseMs: number },
  onChange: () => void,
): Pool {
  const binds: PoolBind[] = sessions.map((session) => ({ session, used: 0 }));
  const throttle = createThrottle(options.throttlePauseMs, changed);
  const waiting = new Set<() => void>();
  let phase: 'running' | 'draining' | 'stopped' = 'running';
  let notified = false;

  function freeSlots({ session, used }: PoolBind): number {
    return session.up() && session.writable() ? Math.max(0, session.window() - used) : 0;
  }

  function room(): number {
    if (phase !== 'running' || throttle.pauseMs() > 0) return 0;
    let free = 0;
    for (const bind of binds) free += freeSlots(bind);
    return free;
  }

  function inFlight(): number {
    let used = 0;
    for (const bind of binds) used += bind.used;
    return used;
  }

  function bindWithMostRoom(): PoolBind | null {
    let best: PoolBind | null = null;
    let maxFree = 0;
    for (const bind of binds) {
      const free = freeSlots(bind);
      if (free <= maxFree) continue;
      maxFree = free;
      best = bind;
    }
    return best;
  }

  function claim(): Slot | null {
    const bind = phase !== 'running' || throttle.pauseMs() > 0 ? null : bindWithMostRoom();
    if (!bind) return null;
    bind.used += 1;
    return { bind };
  }

  function release(slot: Slot): void {
    slot.bind.used -= 1;
    changed();
  }

  /** One notification per tick, not per response: at full speed a tick has hundreds of them. */
  function changed(): void {
    if (notified) return;
    notified = true;
    queueMicrotask(() => {
      notified = false;
      for (const wake of waiting) wake();
      onChange();
    });
  }

  /** Moves the slot to another bind if its own is down; returns true if it is now on a bind that is up. */
  function moveToLiveBind(slot: Slot): boolean {
    if (slot.bind.session.up()) return true;
    const bind = bindWithMostRoom();
    if (!bind) return false;
    slot.bind.used -= 1;
    bind.used += 1;
    slot.bind = bind;
    return true;
  }

  async function ready(slot: Slot, delayMs: number, until: Date | null): Promise<'go' | 'expired' | 'stopped'> {
    const notBefore = performance.now() + delayMs;
    while (phase !== 'stopped') {
      if (until !== null && until.getTime() <= Date.now()) return 'expired';
      const waitMs = Math.max(throttle.pauseMs(), Math.ceil(notBefore - performance.now()));
      if (waitMs <= 0 && moveToLiveBind(slot)) return 'go';
      await nextChange(waitMs > 0 ? Math.min(waitMs, VALIDITY_CHECK_MS) : VALIDITY_CHECK_MS);
    }
    return 'stopped';
  }

  function nextChange(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, limitMs);
      waiting.add(wake);
    });
  }

  async function drain(deadlineMs: number): Promise<void> {
    phase = 'draining';
    const until = performance.now() + deadlineMs;
    for (let restMs = deadlineMs; inFlight() > 0 && restMs > 0; restMs = until - performance.now()) {
      await nextChange(restMs);
    }
    phase = 'stopped';
    throttle.stop();
    changed();
  }

  return {
    room,
    inFlight,
    claim,
    release,
    ready,
    changed,
    drain,
    bindsUp: () => binds.reduce((up, { session }) => up + (session.up() ? 1 : 0), 0),
    throttle,
  };
}
