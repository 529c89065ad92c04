import type { Random } from '../smsc/random.ts';
import { createTimeline } from '../smsc/timeline.ts';
import { titleOf } from './answer.ts';
import type { Events } from './events.ts';
import type { LedgerWriter } from './ledger.ts';
import { DELIVERED, type GraphScript, type Outcome, outcomeFor, type StatusStep } from './script.ts';

/** An accepted message whose statuses are to follow. */
export type Taken = {
  readonly id: string;
  readonly phoneNumberId: string;
  /** A number in digits, or a user id. */
  readonly to: string;
  readonly opaque: string | null;
  readonly category: string;
  /** True if the message is free-form and outside the window, which only a status reports. */
  readonly outOfWindow: boolean;
};

/** The schedule of statuses. */
export type StatusPlanner = {
  /** Schedules the statuses of a message. */
  plan(message: Taken): void;
  /** Returns the number of statuses that are not due yet. */
  scheduled(): number;
  stop(): void;
};

/** Dependencies of the schedule. */
export type StatusDeps = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly events: Events;
};

type Due = { readonly message: Taken; readonly step: StatusStep };

const RE_ENGAGEMENT: readonly StatusStep[] = [{ status: 'failed', code: 131047, afterMs: 500 }];

/** Creates the schedule that sends the statuses of messages as the script defines. */
export function createStatusPlanner({ script, ledger, random, events }: StatusDeps): StatusPlanner {
  const timeline = createTimeline<Due>(send);

  function plan(message: Taken): void {
    const outcome = outcomeFor(script, message.to);
    const [first, ...later] = stepsOf(outcome, message);
    if (first && outcome.early) send({ message, step: first });
    else if (first) schedule(message, first, outcome);
    for (const step of later) schedule(message, step, outcome);
  }

  function schedule(message: Taken, step: StatusStep, outcome: Outcome): void {
    if (random.chance(script.missingStatusShare)) return;
    const lateMs = random.chance(script.reorderStatusShare) ? script.reorderMs : 0;
    const times = outcome.doubled || random.chance(script.doubleStatusShare) ? 2 : 1;
    for (let n = 0; n < times; n++) timeline.after(step.afterMs + lateMs + n * script.reorderMs, { message, step });
  }

  function send({ message, step }: Due): void {
    const { id, phoneNumberId } = message;
    const bsuid = script.payload === 'bsuid';
    events.publish({
      entry: ledger.recordEvent({ kind: 'status', id, what: step.status }),
      list: 'statuses',
      phoneNumberId,
      item: statusItem(message, step, script.payload),
      contact: bsuid && step.status !== 'failed' ? { user_id: userIdOf(message.to) } : null,
    });
  }

  return { plan, scheduled: timeline.size, stop: timeline.stop };
}

function stepsOf(outcome: Outcome, message: Taken): readonly StatusStep[] {
  return message.outOfWindow ? RE_ENGAGEMENT : (outcome.steps ?? DELIVERED);
}

/** Returns a person's user id, always the same one for a number. */
export const userIdOf = (to: string): string => (/^\d/.test(to) ? `PT.1${to}` : to);

function statusItem(message: Taken, step: StatusStep, payload: GraphScript['payload']): object {
  const { id, to, opaque } = message;
  return {
    id,
    status: step.status,
    timestamp: String(Math.floor(Date.now() / 1000)),
    ...(payload === 'bsuid' ? { recipient_user_id: userIdOf(to) } : { recipient_id: to }),
    ...(opaque === null ? {} : { biz_opaque_callback_data: opaque }),
    ...(step.status === 'failed' ? { errors: [errorOf(step.code ?? 131000)] } : detailsOf(message, step, payload)),
  };
}

function errorOf(code: number): object {
  const title = titleOf(code);
  return {
    code,
    title,
    message: title,
    error_data: { details: `The simulator failed this message with ${code}.` },
    href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
  };
}

/** The pricing is part of `sent` only, with the conversation in old versions. */
function detailsOf({ id, category }: Taken, { status }: StatusStep, payload: GraphScript['payload']): object {
  if (status !== 'sent') return {};
  const pricing = { billable: category !== 'service', pricing_model: 'PMP', type: 'regular', category };
  if (payload !== 'conversation') return { pricing };
  const expires = String(Math.floor(Date.now() / 1000) + 86_400);
  return { conversation: { id, expiration_timestamp: expires, origin: { type: category } }, pricing };
}
