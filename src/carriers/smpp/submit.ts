import type { Outcome } from '../outcome.ts';
import type { Frames } from './encode-submission.ts';
import { type Fate, fateOf } from './fate.ts';
import type { Pool, Slot } from './pool.ts';

/** Tries of one later part before the message is given up (protocol sheet smpp, section 3: as for throttling). */
const MOST_TRIES = 20;
/** After a temporary error of the carrier, and after a rebind. */
const RETRY_LATER_MS = 5000;

/**
 * Sends the parts of one message one after the other, so that they arrive in order, frees its slot and resolves with
 * its outcome (protocol sheet smpp, sections 3, 4 and 11). The first part that is not taken gives the message back as
 * `retry`. Later parts are repeated here: giving back a message that was taken in part would send its first parts twice.
 */
export function sendParts(
  pool: Pool,
  slot: Slot,
  [first, ...later]: Frames,
  validUntil: Date | null,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const end = (outcome: Outcome): void => {
      pool.release(slot);
      resolve(outcome);
    };
    // Most messages are one part: this promise is the only one that they cost.
    sendOnce(pool, slot, first, (fate) => {
      if (fate.kind !== 'accepted') end(outcomeOf(fate, [], pool));
      else if (later.length === 0) end({ kind: 'accepted', carrierIds: [fate.carrierId] });
      else void sendRest(pool, slot, later, validUntil, [fate.carrierId]).then(end);
    });
  });
}

async function sendRest(
  pool: Pool,
  slot: Slot,
  frames: readonly Buffer[],
  validUntil: Date | null,
  carrierIds: string[],
): Promise<Outcome> {
  for (const frame of frames) {
    const fate = await sendLater(pool, slot, frame, validUntil);
    if (fate.kind !== 'accepted') return outcomeOf(fate, carrierIds, pool);
    carrierIds.push(fate.carrierId);
  }
  return { kind: 'accepted', carrierIds };
}

function sendOnce(pool: Pool, slot: Slot, frame: Buffer, done: (fate: Fate) => void): void {
  const { session } = slot.lane;
  session.request(frame, (answer) => {
    const fate = fateOf(answer);
    if (fate.kind === 'accepted') pool.flowing();
    else if (fate.kind === 'again' && fate.cause === 'throttle') pool.throttled();
    else if (fate.kind === 'again' && fate.cause === 'rebind') session.rebind(fate.text);
    done(fate);
  });
}

async function sendLater(pool: Pool, slot: Slot, frame: Buffer, validUntil: Date | null): Promise<Fate> {
  let delayMs = 0;
  for (let tries = 1; ; tries += 1) {
    const turn = await pool.ready(slot, delayMs, validUntil);
    if (turn === 'expired') return EXPIRED;
    if (turn === 'stopped') return STOPPED;
    const fate = await new Promise<Fate>((done) => sendOnce(pool, slot, frame, done));
    if (fate.kind !== 'again') return fate;
    if (tries === MOST_TRIES)
      return { kind: 'refused', status: 'REJECTED', elsewhere: false, code: fate.code, text: fate.text };
    delayMs = delayOf(fate, pool);
  }
}

const STOPPED: Fate = { kind: 'unknown', text: 'Stopped before the remaining parts were sent' };
const EXPIRED = {
  kind: 'refused',
  status: 'EXPIRED',
  elsewhere: false,
  code: 'EXPIRED',
  text: 'The validity ended before it was sent',
} as const;

/** What `submit` answers for a message that must not be delivered any more. */
export const EXPIRED_OUTCOME: Outcome = { ...EXPIRED, carrierIds: [] };

function outcomeOf(fate: Exclude<Fate, { kind: 'accepted' }>, carrierIds: readonly string[], pool: Pool): Outcome {
  if (fate.kind === 'refused') return { ...fate, elsewhere: fate.elsewhere && carrierIds.length === 0, carrierIds };
  if (fate.kind === 'unknown') return { ...fate, carrierIds };
  const counts = fate.cause === 'later' || fate.cause === 'rebind';
  return { kind: 'retry', afterMs: delayOf(fate, pool), counts, code: fate.code, text: fate.text };
}

function delayOf(fate: Extract<Fate, { kind: 'again' }>, pool: Pool): number {
  switch (fate.cause) {
    case 'throttle':
      return pool.pauseMs();
    case 'later':
    case 'rebind':
      return RETRY_LATER_MS;
    case 'unsent':
      return 0;
  }
}
