import type { Session } from './session.ts';
import { createThrottle } from '../throttle.ts';

/** A bind that takes submits, and how many messages hold one of its window slots. */
export type Lane = { readonly session: Session; used: number };

/** A message's place in a window. It keeps it through all its parts, and may take it to another bind between them. */
export type Slot = { lane: Lane };

export type Pool = {
  /** Free slots of the binds that are up; 0 during a pause. */
  room(): number;
  inFlight(): number;
  bindsUp(): number;
  /** A slot on the bind with the most room, or null. */
  claim(): Slot | null;
  release(slot: Slot): void;
  /** Resolves when the slot's next part may go: `delayMs` and every pause are over and it is on a bind that is up. */
  ready(slot: Slot, delayMs: number, until: Date | null): Promise<'go' | 'expired' | 'stopped'>;
  /** All binds pause: the carrier asked for it. */
  throttled(): void;
  /** The carrier took a message. */
  flowing(): void;
  pauseMs(): number;
  /** To be called when a bind came, went, or takes octets again. */
  changed(): void;
  /** No more claims; resolves when every slot is free, or after `deadlineMs`, when waiting parts give up. */
  drain(deadlineMs: number): Promise<void>;
};

/** A waiting part looks at its validity this often even if nothing changes. */
const LOOK_MS = 1000;

/** The windows of one carrier's binds together. `grown` is called, at most once a tick, when `room()` may have grown. */
export function createPool(
  sessions: readonly Session[],
  options: { readonly window: number; readonly throttlePauseMs: number },
  grown: () => void,
): Pool {
  const lanes: Lane[] = sessions.map((session) => ({ session, used: 0 }));
  const throttle = createThrottle(options.throttlePauseMs, changed);
  const waiting = new Set<() => void>();
  let phase: 'running' | 'draining' | 'stopped' = 'running';
  let notified = false;

  function freeIn(lane: Lane): number {
    return lane.session.up() && lane.session.writable() ? Math.max(0, options.window - lane.used) : 0;
  }

  function room(): number {
    if (phase !== 'running' || throttle.remainingMs() > 0) return 0;
    let free = 0;
    for (const lane of lanes) free += freeIn(lane);
    return free;
  }

  function inFlight(): number {
    let used = 0;
    for (const lane of lanes) used += lane.used;
    return used;
  }

  function roomiest(): Lane | null {
    let best: Lane | null = null;
    let most = 0;
    for (const lane of lanes) {
      const free = freeIn(lane);
      if (free <= most) continue;
      most = free;
      best = lane;
    }
    return best;
  }

  function claim(): Slot | null {
    const lane = phase !== 'running' || throttle.remainingMs() > 0 ? null : roomiest();
    if (!lane) return null;
    lane.used += 1;
    return { lane };
  }

  function release(slot: Slot): void {
    slot.lane.used -= 1;
    changed();
  }

  /** Not a call a response: at full speed there are hundreds of them in a tick. */
  function changed(): void {
    if (notified) return;
    notified = true;
    queueMicrotask(() => {
      notified = false;
      for (const wake of waiting) wake();
      grown();
    });
  }

  /** Whether the slot is on a bind that is up, after moving it to another one if that helps. */
  function seated(slot: Slot): boolean {
    if (slot.lane.session.up()) return true;
    const lane = roomiest();
    if (!lane) return false;
    slot.lane.used -= 1;
    lane.used += 1;
    slot.lane = lane;
    return true;
  }

  async function ready(slot: Slot, delayMs: number, until: Date | null): Promise<'go' | 'expired' | 'stopped'> {
    const notBefore = performance.now() + delayMs;
    while (phase !== 'stopped') {
      if (until !== null && until.getTime() <= Date.now()) return 'expired';
      const waitMs = Math.max(throttle.remainingMs(), Math.ceil(notBefore - performance.now()));
      if (waitMs <= 0 && seated(slot)) return 'go';
      await nextChange(waitMs > 0 ? Math.min(waitMs, LOOK_MS) : LOOK_MS);
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
    bindsUp: () => lanes.reduce((up, lane) => up + (lane.session.up() ? 1 : 0), 0),
    throttled: throttle.hit,
    flowing: throttle.ease,
    pauseMs: throttle.remainingMs,
  };
}
