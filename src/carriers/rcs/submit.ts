import { setTimeout as sleep } from 'node:timers/promises';
import type { Submission } from '../carrier.ts';
import type { Gate } from '../http/gate.ts';
import type { Outcome } from '../outcome.ts';
import { messagesPath, type RbmClient } from './client.ts';
import { judge, type Verdict } from './errors.ts';
import { LONGEST_TTL_SECONDS, type RcsSettings } from './settings.ts';

export type SubmitDeps = {
  readonly settings: RcsSettings;
  readonly client: RbmClient;
  readonly gate: Gate;
  /** What the network said of it, for the carrier's own state. */
  readonly heard: (submission: Submission, verdict: Verdict) => void;
};

/** After an error of the network, this message waits so long, and up to twice as long. */
const LATER_MS = 5000;

/**
 * Sends one message and resolves with its outcome (protocol sheet rcs, sections 4 and 5).
 *
 * A message that went out without an answer is in doubt. It goes out again under the same id, of which the network
 * takes only the first, so that the next answer ends the doubt; after `resends` of them it is `unknown`. While it is in
 * doubt it is never given back as `retry`, which says that it was not taken.
 */
export async function sendMessage(deps: SubmitDeps, submission: Submission): Promise<Outcome> {
  const { gate, settings } = deps;
  let doubt: string | null = null;
  for (let resends = 0; ; resends += 1) {
    const verdict = await attempt(deps, submission);
    if (verdict.act === 'accepted' || verdict.act === 'refuse') return final(verdict, submission);
    if (verdict.act === 'silence' && verdict.written) doubt = verdict.text;
    if (doubt === null) return again(verdict, deps);
    if (resends >= settings.resends || !(await rested(gate, settings)) || isOver(submission)) {
      return { kind: 'unknown', text: doubt, carrierIds: [submission.messageId] };
    }
  }
}

async function attempt({ client, gate, settings, heard }: SubmitDeps, submission: Submission): Promise<Verdict> {
  const body = JSON.stringify(agentMessage(submission, settings, Date.now()));
  const verdict = judge(await client.call({ method: 'POST', path: messagesPath(submission), body }));
  if (verdict.act === 'accepted') gate.flowing();
  else if (verdict.act === 'busy') gate.pause(verdict.leastMs);
  else if (verdict.act === 'silence' && !verdict.written) gate.pause();
  heard(submission, verdict);
  return verdict;
}

const isOver = ({ validUntil }: Submission): boolean => validUntil !== null && validUntil.getTime() <= Date.now();

/** Waits a little before a repetition, and as long as everything waits; false when the carrier stops meanwhile. */
async function rested(gate: Gate, { throttlePauseMs }: RcsSettings): Promise<boolean> {
  const waitMs = Math.max(gate.pauseMs(), throttlePauseMs * (0.5 + Math.random()));
  await sleep(waitMs, undefined, { signal: gate.stopping }).catch(() => undefined);
  return !gate.stopping.aborted;
}

function final(verdict: Extract<Verdict, { act: 'accepted' | 'refuse' }>, { messageId }: Submission): Outcome {
  if (verdict.act === 'accepted') return { kind: 'accepted', carrierIds: [messageId] };
  const { status, account, code, text } = verdict;
  return { kind: 'refused', status, elsewhere: account, code, text, carrierIds: [] };
}

type Open = Exclude<Verdict, { act: 'accepted' | 'refuse' }>;

/** Only errors that are of this message count; the rest is the network's or our account's. */
function again({ act, code, text }: Open, { gate, settings }: SubmitDeps): Outcome {
  if (act === 'later') {
    return { kind: 'retry', afterMs: Math.round(LATER_MS * (1 + Math.random())), counts: true, code, text };
  }
  const afterMs = act === 'token' ? settings.faultPauseSeconds * 1000 : Math.max(1, gate.pauseMs());
  return { kind: 'retry', afterMs, counts: false, code, text };
}

/** The AgentMessage of a submission (section 2). */
function agentMessage(submission: Submission, settings: RcsSettings, now: number): object {
  const { content, body } = submission;
  return {
    contentMessage: content ? content.message : { text: body },
    ...(settings.trafficType && { messageTrafficType: settings.trafficType }),
    ttl: `${lifeSeconds(submission.validUntil, settings, now)}s`,
  };
}

/** As a duration and not as an instant: the two clocks need not agree. To the millisecond. */
function lifeSeconds(validUntil: Date | null, { defaultTtlSeconds }: RcsSettings, now: number): number {
  if (validUntil === null) return defaultTtlSeconds;
  return Math.min(LONGEST_TTL_SECONDS, Math.max(0.001, (validUntil.getTime() - now) / 1000));
}
