import { api, ok } from '../api/client.ts';

/** Reason why a step-up at the company has failed: a key under `stepUp.problem`. */
export type StepUpProblem = string;

const PROBLEMS = ['expired', 'cancelled', 'unavailable', 'untrusted', 'not_allowed'];

/** Returns the problem that a URL names, if it is one of ours: anyone can write a URL. */
export const knownProblem = (text: unknown): StepUpProblem | null =>
  typeof text === 'string' && PROBLEMS.includes(text) ? text : null;

/** Returns the URL at which the user signs in to their company once more. */
export async function beginCompanyStepUp(): Promise<string> {
  const { authorizeUrl } = await ok(api.POST('/api/partner-gateway/v1/session/step-up/single-sign-on'));
  return authorizeUrl;
}

// The window at the company cannot reach the one that opened it: the policy of our pages separates them
// (cross-origin-opener-policy). Only pages of this origin can listen on the channel.
const CHANNEL = 'heliograph-step-up';

/** Announces the end of a step-up to the pages that wait for one; null: it has succeeded. */
export function announceStepUp(problem: StepUpProblem | null): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(problem);
  channel.close();
}

/** Calls back at the end of each step-up in another window; returns a function that ends it. */
export function onStepUp(ended: (problem: StepUpProblem | null) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }) => ended(data === null ? null : (knownProblem(data) ?? 'expired')));
  return () => channel.close();
}
