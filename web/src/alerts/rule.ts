import { api, ok } from '../api/client.ts';
import { type Rule, RULES } from './alert.ts';

/** Sets the rule by which a kind of condition is an alert. */
export const setRule = ({ kind, enabled, forSeconds, threshold }: Omit<Rule, 'unit'>) =>
  ok(api.PUT(`${RULES}/{kind}`, { params: { path: { kind } }, body: { enabled, forSeconds, threshold } }));
