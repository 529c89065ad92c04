import type { Carrier, CarrierHost, CarrierState, Submission } from '../carrier.ts';
import type { Outcome } from '../outcome.ts';
import { createConcatRefs } from './concat-refs.ts';
import { createDeliveries, type Deliveries } from './deliveries.ts';
import type { Frames } from './encode-submission.ts';
import { createPool } from './pool.ts';
import { type BindKind, createSession, type Session, TIMING, type Timing } from './session.ts';
import type { SmppSettings } from './settings.ts';
import { STATUS } from './status.ts';
import { createSubmissionEncoder } from './submission-encoder.ts';
import { EXPIRED_OUTCOME, sendParts } from './submit.ts';

const BIND_KINDS: Record<SmppSettings['bind'], readonly BindKind[]> = {
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

  function newSession(kind: BindKind): Session {
    return createSession(
      { kind, settings, password: secret.password, timing: { ...TIMING, ...timing } },
      {
        changed: () => pool.changed(),
        deliver: (delivery, answer) => {
          if (deliveries) deliveries.handle(delivery, answer);
          else answer(STATUS.ESME_RX_T_APPN);
        },
        failed: (reason) => host?.failed(reason),
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
