import type { BindMode } from '../../smpp/session.ts';
import { STATUS } from '../../smpp/status.ts';
import type { Carrier, CarrierHost, CarrierState, Outcome, Submission } from '../carrier.ts';
import { createThrottle, type Throttle } from '../throttle.ts';
import { createConcatRefs, createSubmissionEncoder, type Frames, type PartResult, partResultOf } from './encode.ts';
import { createDeliveries, createSession, type Deliveries, type Session, TIMING, type Timing } from './session.ts';
import type { SmppSettings } from './settings.ts';

const BIND_KINDS: Record<SmppSettings['bind'], readonly BindMode[]> = {
  trx: ['transceiver'],
  'tx+rx': ['transmitter', 'receiver'],
  tx: ['transmitter'],
  rx: ['receiver'],
};

const NO_FREE_SLOT: Outcome = {
  kind: 'retry',
  afterMs: 0,
  counts: false,
  code: 'NOT_SENT',
  text: 'No bind has a free slot',
};

/**
 * Creates a carrier that is reached over SMPP 3.4. `timing` is for tests. Throws a RangeError if the password does not
 * fit the protocol.
 */
export function createSmppCarrier(
  settings: SmppSettings,
  secret: { readonly password: string },
  timing: Partial<Timing> = {},
): Carrier {
  const encode = createSubmissionEncoder(settings, createConcatRefs());
  let host: CarrierHost | null = null;
  let deliveries: Deliveries | null = null;

  const sessions = Array.from({ length: settings.binds }, () => BIND_KINDS[settings.bind])
    .flat()
    .map(newSession);
  const submitting = sessions.filter((session) => session.kind !== 'receiver');
  const pool = createPool(submitting, settings, () => host?.changed());

  function newSession(kind: BindMode): Session {
    return createSession(
      { kind, settings, password: secret.password, timing: { ...TIMING, ...timing } },
      {
        changed: () => pool.changed(),
        deliver: (delivery, answer) => {
          if (deliveries) deliveries.handle(delivery, answer);
          else answer(STATUS.ESME_RX_T_APPN);
        },
        failed: (reason) => host?.failed(reason),
        unreadable: () => host?.unreadable?.(),
        log: (level, message, fields) => host?.log(level, message, fields),
      },
    );
  }

  function start(newHost: CarrierHost): void {
    host = newHost;
    deliveries = createDeliveries(settings, newHost);
    for (const session of sessions) session.start();
  }

  function submit(submission: Submission): Promise<Outcome> {
    const { validUntil } = submission;
    if (validUntil !== null && validUntil.getTime() <= Date.now()) return Promise.resolve(EXPIRED_OUTCOME);
    const frames = framesOf(submission);
    if ('kind' in frames) return Promise.resolve(frames);
    const slot = pool.claim();
    return slot ? sendParts(pool, slot, frames, validUntil) : Promise.resolve(NO_FREE_SLOT);
  }

  function framesOf(submission: Submission): Frames | Outcome {
    try {
      return encode(submission);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { kind: 'refused', status: 'REJECTED', code: 'NOT_ENCODABLE', text, carrierIds: [] };
    }
  }

  function state(): CarrierState {
    // A receive-only carrier has no other binds to count.
    const counted = submitting.length > 0 ? submitting : sessions;
    const bindsUp = counted.filter((session) => session.up()).length;
    const fault = sessions.find((session) => session.fault() !== null)?.fault() ?? null;
    const allLinksUp = sessions.every((session) => session.up() && !session.stuck());
    return {
      up: bindsUp > 0,
      bindsUp,
      bindsWanted: counted.length,
      allLinksUp,
      inFlight: pool.inFlight(),
      fault,
    };
  }

  async function stop(deadlineMs: number): Promise<void> {
    const until = performance.now() + deadlineMs;
    deliveries?.stop();
    await pool.drain(deadlineMs);
    await Promise.all(sessions.map((session) => session.stop(Math.max(0, until - performance.now()))));
  }

  return { channels: ['SMS'], start, room: pool.room, paceOf: () => pool.throttle, submit, state, stop };
}

/** A bind that takes submits, and the number of messages that hold one of its window slots. */
type PoolBind = { readonly session: Session; used: number };

/** A message's slot in a window. The message keeps it for all its parts, and may move to another bind between them. */
type Slot = { bind: PoolBind };

/** The windows of a carrier's binds, taken together. */
type Pool = {
  /** Returns the number of free slots on binds that are up; 0 during a pause. */
  room(): number;
  /** Returns the number of slots in use. */
  inFlight(): number;
  bindsUp(): number;
  /** Claims a slot on the bind with the most room; null if there is none. */
  claim(): Slot | null;
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

/** Attempts for one later part before the message is given up, as for throttling. */
const MAX_TRIES = 20;
/** The delay after a temporary error of the carrier, and after a rebind. */
const RETRY_LATER_MS = 5000;

/**
 * Sends the parts of one message one after another, so that they arrive in order, releases its slot and resolves with
 * the outcome (SMPP 3.4, 5.1.3). If the first part is not taken, the message is returned as `retry`. Later parts are
 * repeated here: returning a partly taken message would send its first parts twice.
 */
export function sendParts(pool: Pool, slot: Slot, frames: Frames, validUntil: Date | null): Promise<Outcome> {
  return new Promise((resolve) => {
    const end = (outcome: Outcome): void => {
      pool.release(slot);
      resolve(outcome);
    };
    // Most messages have one part: this is the only promise that they cost.
    sendPart(pool, slot, frames[0], (result) => {
      if (result.kind !== 'accepted') end(outcomeOf(result, [], pool));
      else if (frames.length === 1) end({ kind: 'accepted', carrierIds: [result.carrierId] });
      else void sendRemainingParts(pool, slot, frames.slice(1), validUntil, [result.carrierId]).then(end);
    });
  });
}

async function sendRemainingParts(
  pool: Pool,
  slot: Slot,
  frames: readonly Buffer[],
  validUntil: Date | null,
  carrierIds: string[],
): Promise<Outcome> {
  for (const frame of frames) {
    const result = await sendPartWithRetries(pool, slot, frame, validUntil);
    if (result.kind !== 'accepted') return outcomeOf(result, carrierIds, pool);
    carrierIds.push(result.carrierId);
  }
  return { kind: 'accepted', carrierIds };
}

function sendPart(pool: Pool, slot: Slot, frame: Buffer, done: (result: PartResult) => void): void {
  const { session } = slot.bind;
  const ticket = pool.throttle.begin();
  session.request(frame, (answer) => {
    const result = partResultOf(answer);
    if (result.kind === 'accepted') pool.throttle.accepted(ticket);
    else if (result.kind === 'retry' && result.cause === 'throttle') pool.throttle.refused(ticket);
    else if (result.kind === 'retry' && result.cause === 'rebind') session.rebind(result.text);
    done(result);
  });
}

async function sendPartWithRetries(
  pool: Pool,
  slot: Slot,
  frame: Buffer,
  validUntil: Date | null,
): Promise<PartResult> {
  let delayMs = 0;
  for (let tries = 1; ; tries += 1) {
    const turn = await pool.ready(slot, delayMs, validUntil);
    if (turn === 'expired') return EXPIRED;
    if (turn === 'stopped') return STOPPED;
    const result = await new Promise<PartResult>((done) => sendPart(pool, slot, frame, done));
    if (result.kind !== 'retry') return result;
    if (tries === MAX_TRIES)
      return { kind: 'refused', status: 'REJECTED', elsewhere: false, code: result.code, text: result.text };
    delayMs = delayOf(result, pool, tries);
  }
}

const STOPPED: PartResult = { kind: 'unknown', text: 'Stopped before the remaining parts were sent' };
const EXPIRED = {
  kind: 'refused',
  status: 'EXPIRED',
  elsewhere: false,
  code: 'EXPIRED',
  text: 'The validity period ended before the message was sent',
} as const;

/** The outcome of a message that must no longer be delivered. */
const EXPIRED_OUTCOME: Outcome = { ...EXPIRED, carrierIds: [] };

function outcomeOf(
  result: Exclude<PartResult, { kind: 'accepted' }>,
  carrierIds: readonly string[],
  pool: Pool,
): Outcome {
  if (result.kind === 'refused') {
    return { ...result, elsewhere: result.elsewhere && carrierIds.length === 0, carrierIds };
  }
  if (result.kind === 'unknown') return { ...result, carrierIds };
  const counts = result.cause === 'later' || result.cause === 'rebind';
  return { kind: 'retry', afterMs: delayOf(result, pool), counts, code: result.code, text: result.text };
}

/** A later part waits longer after each try, because giving up would leave a part of the message at the carrier. */
function delayOf(result: Extract<PartResult, { kind: 'retry' }>, { throttle }: Pool, tries = 0): number {
  switch (result.cause) {
    case 'throttle':
      return throttle.retryMs(tries);
    case 'later':
    case 'rebind':
      return RETRY_LATER_MS;
    case 'unsent':
      return 0;
  }
}
