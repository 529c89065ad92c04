import { afterAll, expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { requireAnyScope, requireCredentials, requireOperator, requireScope, type StepUp } from './auth.ts';
import { createServer } from './server.ts';

const app = createServer(apiDeps());
afterAll(() => app.close());

let routes = 0;

/** Registers a route with these hooks, as any feature does, and returns its step-up rule. */
function stepUpOf(method: 'GET' | 'POST' | 'DELETE', hooks: ReturnType<typeof requireScope>[], stepUp?: StepUp) {
  const said: (StepUp | undefined)[] = [];
  const url = `/new/${routes++}`;
  app.addHook('onRoute', (route) => void (route.url === url && said.push(route.config?.stepUp)));
  const config = stepUp === undefined ? {} : { config: { stepUp } };
  app.route({ method, url, onRequest: hooks, ...config, handler: () => null });
  return said[0];
}

test.each([
  ['a change by operators', 'POST', [requireOperator()]],
  ['a change of keys, users or security', 'DELETE', [requireScope('keys')]],
  ['a change of webhooks', 'POST', [requireScope('webhooks')]],
  ['a change that needs them next to another scope', 'POST', [requireScope('inbox'), requireScope('webhooks')]],
  ['a change that needs one of several scopes', 'POST', [requireAnyScope(['SMS', 'keys'], 'write')]],
] as const)('%s needs a step-up when its route says nothing', (_what, method, hooks) => {
  expect(stepUpOf(method, [...hooks])).toBe(true);
});

test.each([
  ['reads of operators', 'GET', [requireOperator()]],
  ['reads of keys', 'GET', [requireScope('keys')]],
  ['a POST that only reads', 'POST', [requireScope('webhooks', 'read')]],
  ['other changes', 'POST', [requireScope('contacts')]],
  ['what belongs to the caller', 'POST', [requireCredentials()]],
] as const)('%s need none', (_what, method, hooks) => {
  expect(stepUpOf(method, [...hooks])).toBeUndefined();
});

test('a route keeps what it says', () => {
  const exempt = { exempt: 'changes nothing' };
  expect(stepUpOf('POST', [requireOperator()], exempt)).toEqual(exempt);
  expect(stepUpOf('POST', [requireScope('keys')], { only: 'large ones' })).toEqual({ only: 'large ones' });
});
