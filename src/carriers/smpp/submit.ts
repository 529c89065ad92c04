import type { Outcome } from '../outcome.ts';
import type { Frames } from './encode-submission.ts';
import { type PartResult, partResultOf } from './part-result.ts';
import type { Pool, Slot } from './pool.ts';

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
export const EXPIRED_OUTCOME: Outcome = { ...EXPIRED, carrierIds: [] };

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
