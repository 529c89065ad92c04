import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { type Actor, type Authenticate, type Authenticated, type Role, type Scope, scopesOfRole } from '../actor.ts';
import { CHANNELS } from '../channels.ts';
import { AppError } from '../errors.ts';
import { DEFAULT_NUMBER_RULES } from '../phone.ts';
import { assertScope, authentication, requireOperator, requireScope } from './auth.ts';

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
  numberRules: DEFAULT_NUMBER_RULES,
});

/** An app whose /open needs nothing, /in credentials, and /contacts the scope. */
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
  const app = appWith(() => Promise.resolve(admitted('admin')));
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
  ['admin', undefined, 'POST', undefined],
  ['manager', undefined, 'DELETE', undefined],
  ['viewer', undefined, 'GET', undefined],
  ['viewer', undefined, 'POST', 'The role viewer may only read within the scope "contacts"'],
  ['viewer', undefined, 'DELETE', 'The role viewer may only read within the scope "contacts"'],
  ['sender', undefined, 'GET', undefined],
  ['sender', undefined, 'POST', 'The role sender may only read within the scope "contacts"'],
  ['admin', ['contacts'], 'POST', undefined],
  ['admin', ['SMS', 'keys'], 'GET', 'These credentials lack the scope "contacts"'],
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
  const app = appWith(() => Promise.resolve(admitted('admin')));
  expect((await app.inject('/open/contacts')).statusCode).not.toBe(200);
});

/** Calls a route that has this hook as this actor; returns the status, and the message of a rejection. */
async function askAs(actor: Actor, hook: ReturnType<typeof requireScope>): Promise<[number, string | undefined]> {
  const app = Fastify();
  let message: string | undefined;
  app.setErrorHandler((error: AppError, _request, reply) => {
    ({ message } = error);
    return reply.code(error.status).send();
  });
  app.register(async (inside) => {
    inside.register(authentication, { authenticate: async () => ({ actor, headers: {} }) });
    inside.get('/it', { onRequest: hook }, () => 'done');
  });
  return [(await app.inject('/it')).statusCode, message];
}

test('a channel that the plan of the account lacks is refused, whatever the scopes of the caller', async () => {
  const actor = { ...actorOf('admin'), channels: new Set(CHANNELS.filter((channel) => channel !== 'RCS')) };
  expect((await askAs(actor, requireScope('SMS')))[0]).toBe(200);
  expect((await askAs(actor, requireScope('contacts')))[0]).toBe(200);
  expect((await askAs(actor, requireScope('RCS')))[0]).toBe(403);
});

test('only operators of the gateway pass where an operator is required', async () => {
  const refusal = [403, 'Only operators of the gateway may do this'];
  expect(await askAs({ ...actorOf('admin'), isOperator: true }, requireOperator())).toEqual([200, undefined]);
  expect(await askAs({ ...actorOf('admin'), isOperator: false }, requireOperator())).toEqual(refusal);
  expect(await askAs(actorOf('admin'), requireOperator())).toEqual(refusal);
});

test('a route that requires an operator without authentication rejects everyone with 401', async () => {
  const app = Fastify();
  app.decorateRequest('actor');
  app.setErrorHandler((error: AppError, _request, reply) => reply.code(error.status).send());
  app.get('/operators', { onRequest: requireOperator() }, () => 'never');
  app.get('/contacts', { onRequest: requireScope('contacts') }, () => 'never');
  expect([(await app.inject('/operators')).statusCode, (await app.inject('/contacts')).statusCode]).toEqual([401, 401]);
});

test('a handler can ask for a further scope', () => {
  const request = (scopes: Scope[]) => ({ actor: actorOf('admin', new Set(scopes)), method: 'GET' });
  expect(() => assertScope(request(['contacts']), 'contacts')).not.toThrow();
  expect(() => assertScope(request(['contacts']), 'exports')).toThrow('lack the scope "exports"');
});

test('requests that are exempt need no credentials, and no others are', async () => {
  const app = Fastify();
  app.register(async (inside) => {
    const authenticate = () => Promise.reject(new AppError('unauthenticated'));
    inside.register(authentication, { authenticate, exempt: ({ url }) => url === '/exempt' });
    inside.get('/exempt', () => 'open');
    inside.get('/in', () => 'never');
  });
  expect([(await app.inject('/exempt')).body, (await app.inject('/in')).statusCode]).not.toContain('never');
  expect((await app.inject('/exempt')).body).toBe('open');
});

test('a session that is over gets no challenge', async () => {
  const cookie = { cookie: 'heliograph=token' };
  const ask = async (app: ReturnType<typeof appWith>, headers: Record<string, string>) =>
    (await app.inject({ url: '/in', headers })).headers;
  const refusing = refused(new AppError('unauthenticated'));
  expect(await ask(refusing, cookie)).not.toHaveProperty('www-authenticate');
  expect(await ask(refusing, { 'x-api-key': 'key' })).toHaveProperty('www-authenticate');
});
