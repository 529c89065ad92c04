import { setTimeout as delay } from 'node:timers/promises';
import type { Submission } from '../carrier.ts';
import type { HttpClient, HttpRequest } from '../http/client.ts';
import type { Gate } from '../http/gate.ts';
import type { Outcome } from '../outcome.ts';
import type { Throttle } from '../throttle.ts';
import type { Judge, Verdict } from './verdict.ts';

/** Dependencies for sending a message. */
export type SubmitDeps = {
  readonly http: HttpClient;
  readonly gate: Gate;
  readonly throttle: Throttle;
  readonly judge: Judge;
  /** True if the carrier takes a repeat with our id only once. */
  readonly idempotent: boolean;
  readonly resends: number;
  readonly timing: Timing;
  /** Called with each verdict, for the carrier's own state. */
  readonly onVerdict: (verdict: Verdict) => void;
};

/** Delays, which tests shorten. */
export type Timing = {
  /** The minimum delay of a message that the carrier could not take; the maximum is twice as long. */
  readonly laterMs: number;
  /** The minimum delay before a message in doubt is sent again; the maximum is twice as long. */
  readonly resendMs: number;
  /** The delay after the credentials were rejected. */
  readonly refusedMs: number;
  /** The first delay between two probes of the link; it doubles up to `probeMaxMs`. */
  readonly probeBaseMs: number;
  readonly probeMaxMs: number;
};

/**
 * Sends one message and resolves with its outcome.
 *
 * A message that was written without a conclusive response is in doubt. It is only sent again to a carrier that
 * recognises our id: with exactly the same bytes, so that the next response resolves the doubt; after `resends`
 * attempts, and always to other carriers, it is `unknown`. While a message is in doubt it is never returned as `retry`,
 * which would mean that it was not taken, nor as refused because of a status that a proxy could return for the repeat:
 * another carrier would send it once more.
 */
export async function sendMessage(deps: SubmitDeps, submission: Submission, request: HttpRequest): Promise<Outcome> {
  let doubt: string | null = null;
  for (let resends = 0; ; resends += 1) {
    const got: Verdict = await attempt(deps, request);
    const verdict: Verdict = doubt === null ? got : keepDoubt(got);
    if (verdict.act === 'accepted')
      return { kind: 'accepted', carrierIds: verdict.ids.length > 0 ? verdict.ids : [submission.messageId] };
    if (verdict.act === 'refused') {
      const { act, byStatus: _, ...refusal } = verdict;
      return { kind: act, ...refusal, carrierIds: [] };
    }
    if (verdict.act === 'unknown') doubt = verdict.text;
    if (doubt === null) return retry(verdict, deps);
    const mayRepeat = deps.idempotent && resends < deps.resends && isValid(submission);
    if (!mayRepeat || !(await waitBeforeResend(deps, verdict)))
      return { kind: 'unknown', text: doubt, carrierIds: [submission.messageId] };
  }
}

/** Ignores verdicts about a repeat that do not apply to the attempt before it, such as a wrong path. */
function keepDoubt(verdict: Verdict): Verdict {
  if (verdict.act !== 'refused' || !verdict.byStatus || !verdict.elsewhere) return verdict;
  return { act: 'unknown', code: verdict.code, text: verdict.text, waitMs: 0 };
}

async function attempt({ http, gate, throttle, judge, onVerdict }: SubmitDeps, request: HttpRequest): Promise<Verdict> {
  const ticket = throttle.begin();
  const verdict = judge(await http.request(request));
  if (verdict.act === 'accepted') {
    gate.messageAccepted();
    throttle.accepted(ticket);
  } else if (verdict.act === 'throttled') throttle.refused(ticket, verdict.waitMs);
  else if (verdict.act === 'unavailable') gate.pause(verdict.waitMs);
  onVerdict(verdict);
  return verdict;
}

const isValid = ({ validUntil }: Submission): boolean => validUntil === null || validUntil.getTime() > Date.now();

/** Waits before a repetition; resolves with false if the carrier stops meanwhile. */
async function waitBeforeResend({ gate, throttle, timing }: SubmitDeps, verdict: Verdict): Promise<boolean> {
  const askedMs = 'waitMs' in verdict ? verdict.waitMs : 0;
  const ownMs = Math.round(timing.resendMs * (1 + Math.random()));
  const waitMs = Math.max(ownMs, Math.min(askedMs, MAX_WAIT_MS), gate.pauseMs(), throttle.pauseMs());
  await delay(waitMs, undefined, { signal: gate.stopping }).catch(() => undefined);
  return !gate.stopping.aborted;
}

/** Maximum time for which a message in doubt holds its slot before one repetition. */
const MAX_WAIT_MS = 30_000;

type RetryVerdict = Exclude<Verdict, { act: 'accepted' | 'refused' }>;

/**
 * Returns the outcome `retry`. Only an error of this message counts as an attempt; the others concern the link or our
 * account.
 */
function retry(verdict: RetryVerdict, { gate, throttle, timing }: SubmitDeps): Outcome {
  const { act, text } = verdict;
  if (act === 'not-written') return { kind: 'retry', afterMs: 0, counts: false, code: 'NOT_SENT', text };
  const { code, waitMs } = verdict;
  if (act === 'throttled')
    return { kind: 'retry', afterMs: Math.max(1, throttle.retryMs()), counts: false, code, text };
  if (act === 'fault') return { kind: 'retry', afterMs: timing.refusedMs, counts: false, code, text };
  if (act === 'unavailable') return { kind: 'retry', afterMs: Math.max(1, gate.pauseMs()), counts: false, code, text };
  const afterMs = Math.max(Math.round(timing.laterMs * (1 + Math.random())), waitMs);
  return { kind: 'retry', afterMs, counts: true, code, text };
}
