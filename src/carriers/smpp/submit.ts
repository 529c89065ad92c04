import type { Outcome } from '../outcome.ts';
import { type Fate, fateOf } from './fate.ts';
import type { Pool, Slot } from './pool.ts';

/** Tries of one later part before the message is given up (protocol sheet smpp, section 3: as for throttling). */
const MOST_TRIES = 20;
/** After a temporary error of the carrier, and after a rebind. */
const RETRY_LATER_MS = 5000;

/**
 * Sends the parts of one message one after the other, so that they arrive in order, and resolves with its outcome
 * (protocol sheet smpp, sections 3, 4 and 11). The first part that is not taken gives the message back as `retry`.
 * Later parts are repeated here: giving back a message that was taken in part would send its first parts twice.
 */
export async function sendParts(
  pool: Pool,
  slot: Slot,
  frames: readonly Buffer[],
  validUntil: Date | null,
): Promise<Outcome> {
  const carrierIds: string[] = [];
  for (const frame of frames) {
    const first = carrierIds.length === 0;
    const fate = first ? await sendOnce(pool, slot, frame) : await sendLater(pool, slot, frame, validUntil);
    if (fate.kind !== 'accepted') return outcomeOf(fate, carrierIds, pool);
    carrierIds.push(fate.carrierId);
  }
  return { kind: 'accepted', carrierIds };
}

async function sendOnce(pool: Pool, slot: Slot, frame: Buffer): Promise<Fate> {
  const { session } = slot.lane;
  const fate = fateOf(await session.request(frame));
  if (fate.kind === 'accepted') pool.flowing();
  else if (fate.kind === 'again' && fate.cause === 'throttle') pool.throttled();
  else if (fate.kind === 'again' && fate.cause === 'rebind') session.rebind(fate.text);
  return fate;
}

async function sendLater(pool: Pool, slot: Slot, frame: Buffer, validUntil: Date | null): Promise<Fate> {
  let delayMs = 0;
  for (let tries = 1; ; tries += 1) {
    const turn = await pool.ready(slot, delayMs, validUntil);
    if (turn === 'expired') return EXPIRED;
    if (turn === 'stopped') return STOPPED;
    const fate = await sendOnce(pool, slot, frame);
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
