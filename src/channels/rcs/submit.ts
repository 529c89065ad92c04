import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome, Submission } from '../carrier.ts';
import type { Gate } from '../http-client.ts';
import type { Throttles } from '../throttle.ts';
import { messagesPath, type RbmClient, type Verdict, verdictOf } from './client.ts';
import { MAX_TTL_SECONDS, MIN_TTL_SECONDS, type RcsSettings } from './settings.ts';

/** Dependencies for sending a message. */
export type SubmitDeps = {
  readonly settings: RcsSettings;
  readonly client: RbmClient;
  readonly gate: Gate;
  /** The limit of each agent. */
  readonly throttles: Throttles;
  /** Called with every verdict of the network, for the carrier's own state. */
  readonly onVerdict: (submission: Submission, verdict: Verdict) => void;
};

/** The minimum delay of a message after an error of the network; the maximum is twice as long. */
const LATER_MS = 5000;

/**
 * Sends one message and resolves with its outcome (RBM API, agentMessages and errors).
 *
 * A message that was sent without a response is in doubt. It is sent again under the same id, which the network accepts
 * only once, so that the next response resolves the doubt; after `resends` attempts it is `unknown`. While a message is
 * in doubt it is never returned as `retry`, which would mean that it was not taken. With less than ten seconds left, a
 * message is no longer sent: it is EXPIRED, or `unknown` when it is in doubt.
 */
export async function sendMessage(deps: SubmitDeps, submission: Submission): Promise<Outcome> {
  const { gate, settings } = deps;
  if (isTooLate(submission)) return TOO_LATE;
  let doubt: string | null = null;
  for (let resends = 0; ; resends += 1) {
    const verdict = await attempt(deps, submission);
    if (verdict.act === 'accepted' || verdict.act === 'refuse') return finalOutcome(verdict, submission);
    if (verdict.act === 'no-answer' && verdict.written) doubt = verdict.text;
    if (doubt === null) return retryOutcome(verdict, submission, deps);
    if (resends >= settings.resends || !(await waitBeforeResend(gate, settings)) || isTooLate(submission)) {
      return { kind: 'unknown', text: doubt, carrierIds: [submission.messageId] };
    }
  }
}

async function attempt(deps: SubmitDeps, submission: Submission): Promise<Verdict> {
  const { client, gate, throttles, settings, onVerdict } = deps;
  const throttle = throttles.of(submission.sender);
  const ticket = throttle.begin();
  const body = JSON.stringify(agentMessage(submission, settings, Date.now()));
  const verdict = verdictOf(await client.call({ method: 'POST', path: messagesPath(submission), body }));
  if (verdict.act === 'accepted') {
    gate.messageAccepted();
    throttle.accepted(ticket);
  } else if (verdict.act === 'throttled') throttle.refused(ticket, verdict.minPauseMs);
  else if (verdict.act === 'busy') gate.pause(verdict.minPauseMs);
  else if (verdict.act === 'no-answer' && !verdict.written) gate.pause();
  onVerdict(submission, verdict);
  return verdict;
}

const isTooLate = ({ validUntil }: Submission): boolean =>
  validUntil !== null && validUntil.getTime() - Date.now() < MIN_TTL_SECONDS * 1000;

const TOO_LATE: Outcome = {
  kind: 'refused',
  status: 'EXPIRED',
  code: 'EXPIRED',
  text: `Less than ${MIN_TTL_SECONDS} seconds of the validity period were left`,
  carrierIds: [],
};

/**
 * Waits before a repetition, at least as long as the gate's pause; resolves with false if the carrier stops meanwhile.
 */
async function waitBeforeResend(gate: Gate, { throttlePauseMs }: RcsSettings): Promise<boolean> {
  const waitMs = Math.max(gate.pauseMs(), throttlePauseMs * (0.5 + Math.random()));
  await sleep(waitMs, undefined, { signal: gate.stopping }).catch(() => undefined);
  return !gate.stopping.aborted;
}

function finalOutcome(verdict: Extract<Verdict, { act: 'accepted' | 'refuse' }>, { messageId }: Submission): Outcome {
  if (verdict.act === 'accepted') return { kind: 'accepted', carrierIds: [messageId] };
  const { status, account, code, text } = verdict;
  return { kind: 'refused', status, elsewhere: account, code, text, carrierIds: [] };
}

type RetryVerdict = Exclude<Verdict, { act: 'accepted' | 'refuse' }>;

/**
 * Returns the outcome `retry`. Only errors of this message count as attempts; the others concern the network or our
 * account.
 */
function retryOutcome(
  { act, code, text }: RetryVerdict,
  { sender }: Submission,
  { gate, throttles, settings }: SubmitDeps,
): Outcome {
  if (act === 'throttled') {
    return { kind: 'retry', afterMs: throttles.of(sender).retryMs(), counts: false, code, text };
  }
  if (act === 'later') {
    return { kind: 'retry', afterMs: Math.round(LATER_MS * (1 + Math.random())), counts: true, code, text };
  }
  const afterMs = act === 'token' ? settings.faultPauseSeconds * 1000 : Math.max(1, gate.pauseMs());
  return { kind: 'retry', afterMs, counts: false, code, text };
}

/** Builds the AgentMessage of a submission (RBM API, agentMessages). */
function agentMessage(submission: Submission, settings: RcsSettings, now: number): object {
  const { content, body } = submission;
  const own = content?.channel === 'RCS' ? content.trafficType : undefined;
  const messageTrafficType = own ?? settings.trafficType;
  return {
    contentMessage: content ? content.message : { text: body },
    ...(messageTrafficType && { messageTrafficType }),
    ttl: `${ttlSeconds(submission.validUntil, settings, now)}s`,
  };
}

/** Returns the lifetime in seconds, to the millisecond: a duration, since the two clocks may differ. */
function ttlSeconds(validUntil: Date | null, { defaultTtlSeconds }: RcsSettings, now: number): number {
  if (validUntil === null) return defaultTtlSeconds;
  return Math.min(MAX_TTL_SECONDS, Math.max(MIN_TTL_SECONDS, (validUntil.getTime() - now) / 1000));
}
