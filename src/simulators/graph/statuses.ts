import type { Random } from '../smsc/random.ts';
import { createTimeline } from '../smsc/timeline.ts';
import { titleOf } from './answer.ts';
import type { Events } from './events.ts';
import type { LedgerWriter } from './ledger.ts';
import { DELIVERED, type GraphScript, type Outcome, outcomeFor, type StatusStep } from './script.ts';

/** A message that was taken, and whose statuses are to come. */
export type Taken = {
  readonly id: string;
  readonly phoneNumberId: string;
  /** Digits, or a user id. */
  readonly to: string;
  readonly opaque: string | null;
  readonly category: string;
  /** Free-form outside the window: told only by a status. */
  readonly outOfWindow: boolean;
};

export type StatusPlanner = {
  plan(message: Taken): void;
  /** Statuses that are yet to come. */
  scheduled(): number;
  stop(): void;
};

export type StatusDeps = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly events: Events;
};

type Due = { readonly message: Taken; readonly step: StatusStep };

const RE_ENGAGEMENT: readonly StatusStep[] = [{ status: 'failed', code: 131047, afterMs: 500 }];

/** Plans what becomes of a message and tells it, status by status, as the script says. */
export function createStatusPlanner({ script, ledger, random, events }: StatusDeps): StatusPlanner {
  const timeline = createTimeline<Due>(tell);

  function plan(message: Taken): void {
    const outcome = outcomeFor(script, message.to);
    const [first, ...later] = stepsOf(outcome, message);
    if (first && outcome.early) tell({ message, step: first });
    else if (first) schedule(message, first, outcome);
    for (const step of later) schedule(message, step, outcome);
  }

  function schedule(message: Taken, step: StatusStep, outcome: Outcome): void {
    if (random.chance(script.missingStatusShare)) return;
    const lateMs = random.chance(script.reorderStatusShare) ? script.reorderMs : 0;
    const times = outcome.doubled || random.chance(script.doubleStatusShare) ? 2 : 1;
    for (let n = 0; n < times; n++) timeline.after(step.afterMs + lateMs + n * script.reorderMs, { message, step });
  }

  function tell({ message, step }: Due): void {
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

/** The same person's user id, always. */
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
    error_data: { details: `The sandbox failed this message with ${code}.` },
    href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
  };
}

/** Told once, with `sent`; the conversation by old versions only. */
function detailsOf({ id, category }: Taken, { status }: StatusStep, payload: GraphScript['payload']): object {
  if (status !== 'sent') return {};
  const pricing = { billable: category !== 'service', pricing_model: 'PMP', type: 'regular', category };
  if (payload !== 'conversation') return { pricing };
  const expires = String(Math.floor(Date.now() / 1000) + 86_400);
  return { conversation: { id, expiration_timestamp: expires, origin: { type: category } }, pricing };
}
