import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { AppError } from '../errors.ts';
import { CHANNELS } from '../lib/channel.ts';
import { type Role, type Scope, scopesOfRole } from '../lib/scope.ts';
import type { Actor, Authenticated, Authenticate } from '../lib/actor.ts';
import { authentication, requireScope } from './auth.ts';

const admitted = (role: Role, operations?: ReadonlySet<Scope>): Authenticated => ({
  actor: actorOf(role, operations),
  headers: { 'x-ratelimit-remaining': '7' },
});

const actorOf = (role: Role, operations: ReadonlySet<Scope> = scopesOfRole(role)): Actor => ({
  kind: 'key',
  accountId: 7,
  keyId: 1,
  userId: null,
  username: null,
  role,
  operations,
  plan: 'production',
  channels: new Set(CHANNELS),
});

/** An app whose /open needs nothing, /in credentials, /contacts the scope. */
function appWith(authenticate: Authenticate) {
  const app = Fastify();
  app.get('/open', () => 'open');
  app.get('/open/contacts', { onRequest: requireScope('contacts') }, () => 'never');
  app.register(async (inside) => {
    inside.register(authentication, { authenticate });
    inside.get('/in', (request) => ({ accountId: request.actor.accountId }));
    inside.post('/in', () => 'done');
    inside.route({
      method: ['GET', 'POST', 'DELETE'],
      url: '/contacts',
      onRequest: requireScope('contacts'),
      handler: () => 'contacts',
    });
  });
  return app;
}

const refused = (error: AppError) => appWith(() => Promise.reject(error));

test('an authenticated route knows its actor, and the routes next to it need no credentials', async () => {
  const app = appWith(() => Promise.resolve(admitted('owner')));
  const answer = await app.inject('/in');
  expect(answer.json()).toEqual({ accountId: 7 });
  expect(answer.headers['x-ratelimit-remaining']).toBe('7');
  expect((await app.inject('/open')).body).toBe('open');
});

test('401 has the Basic challenge, other errors do not', async () => {
  const answer = await refused(new AppError('unauthenticated')).inject('/in');
  expect(answer.headers['www-authenticate']).toBe('Basic realm="heliograph", charset="UTF-8"');
  const suspended = await refused(new AppError('forbidden')).inject('/in');
  expect(suspended.headers).not.toHaveProperty('www-authenticate');
});

test('a caller without credentials is rejected before the body is read', async () => {
  const app = refused(new AppError('unauthenticated'));
  const errors: string[] = [];
  app.setErrorHandler((error: AppError, _request, reply) => {
    errors.push(error.code);
    return reply.code(error.status).send();
  });
  await app.inject({ method: 'POST', url: '/in', headers: { 'content-type': 'application/json' }, payload: '{' });
  expect(errors).toEqual(['unauthenticated']);
});

test.for<[Role, Scope[] | undefined, 'GET' | 'POST' | 'DELETE', string | undefined]>([
  ['owner', undefined, 'POST', undefined],
  ['operator', undefined, 'DELETE', undefined],
  ['viewer', undefined, 'GET', undefined],
  ['viewer', undefined, 'POST', 'The role viewer is read-only'],
  ['viewer', undefined, 'DELETE', 'The role viewer is read-only'],
  ['owner', ['contacts'], 'POST', undefined],
  ['owner', ['SMS', 'keys'], 'GET', 'These credentials lack the scope "contacts"'],
])('%s with the scopes %s may or may not %s', async ([role, scopes, method, message]) => {
  const app = appWith(() => Promise.resolve(admitted(role, scopes && new Set(scopes))));
  let failure: Error | undefined;
  app.setErrorHandler((error: AppError, _request, reply) => {
    failure = error;
    return reply.code(error.status).send();
  });
  const { statusCode } = await app.inject({ method, url: '/contacts' });
  expect([statusCode, failure?.message]).toEqual([message ? 403 : 200, message]);
});

test('a route that requires a scope without authentication rejects everyone', async () => {
  const app = appWith(() => Promise.resolve(admitted('owner')));
  expect((await app.inject('/open/contacts')).statusCode).not.toBe(200);
});
