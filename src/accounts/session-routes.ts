import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { type Static, Type } from 'typebox';
import {
  type Actor,
  PLANS,
  ROLES,
  roleIn,
  roleMay,
  SCOPES,
  type Session,
  SIGN_IN_METHODS,
  type SignInMethod,
  scopesOfRole,
} from '../core/actor.ts';
import { canonicalAddress } from '../core/address.ts';
import { toChannels } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction, transaction } from '../core/db/transaction.ts';
import { AppError, existing } from '../core/errors.ts';
import {
  type App,
  offsetOf,
  optionsOf,
  PageOf,
  type PlatformDeps,
  pageFields,
  pageOf,
  withExamples,
} from '../core/http/app.ts';
import { assertScope, requireCredentials, requireOperator } from '../core/http/auth.ts';
import { isSecure, sessionCookie } from '../core/http/browser.ts';
import { channelName, displayName, id, instant, orNull } from '../core/schema.ts';
import { operatorAuthor, recordAudit } from './audit.ts';
import {
  countSessions,
  deleteSurplusSessions,
  endOtherSessions,
  endSession,
  findShownAccount,
  generateToken,
  insertSession,
  listSessions,
  type SessionRow,
  signOut,
  updateActingAccount,
} from './sessions.ts';

const Id = id();
const Role = (description: string) => Type.Enum([...ROLES], { type: 'string', description });
const ENDS = 'UTC. The session ends earlier after 12 hours without a request.';

const method = () =>
  Type.Enum([...SIGN_IN_METHODS], {
    type: 'string',
    description: 'The last factor that the user showed to sign in.',
  });

export const SessionOut = Type.Object({
  user: Type.Object({
    id: Type.Integer(),
    username: Type.String(),
    displayName,
    role: Role("The role in the user's own account."),
    isOperator: Type.Boolean({
      description: 'True if the user is an operator of the gateway, who may see all accounts.',
    }),
  }),
  account: Type.Object(
    {
      id: Type.Integer(),
      name: Type.String(),
      plan: Type.Enum([...PLANS], { type: 'string' }),
      channels: Type.Array(channelName()),
      currency: Type.String(),
      status: Type.Enum(['active', 'suspended'], { type: 'string' }),
    },
    { description: 'The current account, to which all other requests of the session apply.' },
  ),
  ownAccountId: Type.Integer(),
  role: Role('The effective role; in another account, that of an admin.'),
  operations: Type.Array(Type.Enum([...SCOPES], { type: 'string' }), { description: 'The effective scopes.' }),
  writable: Type.Array(Type.Enum([...SCOPES], { type: 'string' }), {
    description: 'Those of `operations` within which the role may change something.',
  }),
  method: method(),
  mustEnrol: Type.Boolean({
    description:
      'True if the account requires a second factor and the user has none: until one is added, everything else is ' +
      '403 with the code `second_factor_required`.',
  }),
  createdAt: instant('UTC'),
  expiresAt: instant(ENDS),
});

const AccountIn = Type.Object({
  accountId: Type.Union([Id, Type.Null()], { description: 'The account to switch to; null for your own.' }),
});

const OthersEnded = Type.Object({ ended: Type.Integer({ description: 'Number of sessions that were ended.' }) });

const SessionParams = Type.Object({ id: Id });

const sessionFilters = {
  userId: Type.Optional(id('Only sessions of this user.')),
  all: Type.Boolean({ default: false, description: 'True to list the sessions of all users of the account.' }),
};

const SessionEntry = Type.Object({
  id: Type.Integer(),
  userId: Type.Integer(),
  username: Type.String(),
  address: orNull(Type.String({ description: 'The address from which the user signed in.' })),
  userAgent: Type.String({ description: 'The User-Agent of the browser; at most 200 characters.' }),
  method: method(),
  createdAt: instant('UTC'),
  lastSeenAt: instant('UTC, exact to about a minute.'),
  expiresAt: instant(ENDS),
  current: Type.Boolean({ description: 'True for the session that makes this request.' }),
});

/** Formats a session for lists; `currentId` is the session of the caller. */
const toSessionEntry = (row: SessionRow, currentId: number | undefined): Static<typeof SessionEntry> => ({
  id: row.id,
  userId: row.userId,
  username: row.username,
  address: row.address,
  userAgent: row.userAgent,
  method: row.method,
  createdAt: row.createdAt.toISOString(),
  lastSeenAt: row.lastSeenAt.toISOString(),
  expiresAt: row.expiresAt.toISOString(),
  current: row.id === currentId,
});

const PG = '/api/partner-gateway/v1';
const ONE = `${PG}/session`;
const tags = ['Sessions'];
const Ended = { 204: Type.Null({ description: 'Ended' }) };

/** Registers the routes for sessions of signed-in users. */
export function sessionRoutes(app: App, { pool }: PlatformDeps): void {
  const onRequest = requireCredentials();

  app.get(ONE, {
    onRequest,
    schema: {
      tags,
      operationId: 'findSession',
      summary: 'Get the current session: its user, account and permissions',
      description: 'Only for sessions; 403 for keys and passwords.',
      response: { 200: SessionOut },
    },
    handler: ({ actor }) => describeSession(tenant(pool, actor), actor),
  });

  app.delete(ONE, {
    onRequest,
    schema: { tags, operationId: 'signOut', summary: 'Sign out', response: Ended },
    handler: async (request, reply) => {
      const { session } = request.actor;
      if (session) await tenantTransaction(pool, session, (tx) => signOut(tx, session));
      giveCookie(request, reply, '', 0);
    },
  });

  app.put(`${ONE}/account`, {
    onRequest: requireOperator(),
    config: { stepUp: { only: 'entering another account' } },
    schema: {
      tags,
      operationId: 'switchAccount',
      summary: 'Switch to another account, as an operator of the gateway',
      description:
        'You get the role of an admin, even in a suspended account. Its audit log records when you came and left.',
      body: withExamples(AccountIn, { accountId: null }),
      response: { 200: SessionOut },
    },
    handler: async ({ actor, body }) => {
      if (body.accountId !== null) assertStepUp(actor);
      const next = await transaction(pool, (tx) => switchAccount(tx, actor, body));
      return describeSession(tenant(pool, next), next);
    },
  });

  app.get(`${PG}/sessions`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listSessions',
      summary: 'List sessions, newest first',
      description:
        'Your own by default; with the scope `keys`, also those of other users of the account: see `userId` and `all`.',
      querystring: Type.Object({ ...pageFields, ...sessionFilters }),
      response: { 200: PageOf(SessionEntry) },
    },
    handler: async (request) => {
      const { actor, query } = request;
      const whose = { accountId: actor.accountId, userId: whoseOf(request, query) };
      const db = tenant(pool, actor);
      const page = { limit: query.limit, offset: offsetOf(query) };
      const [rows, total] = await Promise.all([listSessions(db, { ...whose, ...page }), countSessions(db, whose)]);
      return pageOf(
        query,
        rows.map((row) => toSessionEntry(row, actor.session?.id)),
        total,
      );
    },
  });

  app.delete(`${PG}/sessions`, {
    onRequest,
    schema: {
      tags,
      operationId: 'endOtherSessions',
      summary: 'End all your other sessions',
      description: 'Their next requests get 401. Only for sessions; 403 for keys and passwords.',
      response: { 200: OthersEnded },
    },
    handler: async ({ actor: { session } }) => {
      if (!session) throw new AppError('forbidden', { message: 'These credentials are not a session' });
      return { ended: await tenantTransaction(pool, session, (tx) => endOtherSessions(tx, session)) };
    },
  });

  app.delete(`${PG}/sessions/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'endSession',
      summary: 'End a session',
      description:
        'The next request of the session gets 401. With the scope `keys` you can also end sessions of other users of the ' +
        'account, unless they have rights that you lack (403).',
      params: SessionParams,
      response: Ended,
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => endSession(tx, actor, params)),
  });
}

type Filter = { readonly userId?: number; readonly all: boolean };

/** Returns the user whose sessions are requested; null for all users, the default for callers who are not users. */
function whoseOf(request: Pick<FastifyRequest, 'actor' | 'method'>, { userId, all }: Filter): number | null {
  const { kind, userId: own } = request.actor;
  const whose = all ? null : (userId ?? (kind === 'user' ? own : null));
  if (kind !== 'user' || whose !== own) assertScope(request, 'keys');
  return whose;
}

const giveCookie = (request: FastifyRequest, reply: FastifyReply, token: string, maxAgeSeconds: number): void =>
  void reply.header('set-cookie', sessionCookie(token, maxAgeSeconds, isSecure(request)));

/** The only operations open to a user who must still add the second factor that the account requires. */
export const ENROLMENT_OPERATIONS: ReadonlySet<string> = new Set([
  'findSession',
  'signOut',
  'stepUp',
  'beginStepUpPasskey',
  'listSecondFactors',
  'beginTotp',
  'confirmTotp',
  'beginPasskey',
  'addPasskey',
]);

/**
 * Rejects requests of a session that must prove itself first with 403 and an error code that the console understands:
 * `second_factor_required`, or `step_up_required` on routes with `config.stepUp`. Keys and passwords have scopes
 * instead and are not affected. Register it after `authentication`, next to the routes.
 */
export const sessionGuard = fp(
  (app, _options, ready) => {
    app.addHook('onRequest', (request, _reply, done) => done(refusalOf(request)));
    ready();
  },
  { name: 'session-guard', fastify: '5.x' },
);

function refusalOf(request: FastifyRequest): AppError | undefined {
  const { actor } = request;
  // Absent on requests that need no credentials, despite the type.
  if (!actor?.session) return undefined;
  const { schema, config } = optionsOf(request);
  const mayEnrol = ENROLMENT_OPERATIONS.has(schema?.operationId ?? '');
  if (actor.session.mustEnrol && !mayEnrol) return new AppError('second_factor_required');
  return config.stepUp === true ? stepUpError(actor) : undefined;
}

/**
 * Describes a session: its user, the account that it is looking at, and what it may do there. `db` must have the rights
 * of that account. Errors: 403 for credentials that are not a session.
 */
export async function describeSession(
  db: Db,
  { accountId, isOperator = false, session }: Pick<Actor, 'accountId' | 'isOperator' | 'session'>,
): Promise<Static<typeof SessionOut>> {
  if (!session) throw new AppError('forbidden', { message: 'These credentials are not a session' });
  const account = await existing(findShownAccount(db, { accountId }));
  const role = roleIn(accountId, session);
  const { method, mustEnrol } = session;
  const operations = mustEnrol ? new Set() : scopesOfRole(role);
  return {
    user: {
      id: session.userId,
      username: session.username,
      displayName: session.displayName,
      role: session.role,
      isOperator,
    },
    account: { ...account, channels: toChannels(account.channels) },
    ownAccountId: session.accountId,
    role,
    operations: SCOPES.filter((scope) => operations.has(scope)),
    writable: SCOPES.filter((scope) => operations.has(scope) && roleMay(role, scope, 'write')),
    method,
    mustEnrol,
    createdAt: session.createdAt.toISOString(),
    expiresAt: session.expiresAt.toISOString(),
  };
}

const MAX_USER_AGENT_LENGTH = 200;
/** More browsers than a person has. A program that keeps signing in ends its oldest sessions. */
export const MAX_SESSIONS_PER_USER = 50;

export type SignedIn = {
  /** Cannot be shown again. */
  readonly token: string;
  readonly session: Session;
};

type SignInInput = {
  readonly method: SignInMethod;
  /** The stored hash that the password matched; null if the method needs no password. */
  readonly passwordHash: string | null;
  readonly ip: string;
  readonly userAgent: string;
};

export type SignInUser = Pick<Actor, 'kind' | 'accountId' | 'keyId' | 'userId' | 'username' | 'role'>;

/**
 * Starts a session for a user who has proven to be who they are, always with a new token. Call it in a transaction.
 * Errors: 401 when the password was changed in the meantime or the user is gone, 403 for actors who are not users.
 */
export async function signIn(tx: Db, actor: SignInUser, input: SignInInput): Promise<SignedIn> {
  const { accountId, userId, username, role } = actor;
  if (userId === null || username === null) throw new AppError('forbidden');
  const { token, hash } = generateToken();
  const address = canonicalAddress(input.ip) ?? null;
  const userAgent = input.userAgent.slice(0, MAX_USER_AGENT_LENGTH);
  const { passwordHash, method } = input;
  const made = await insertSession(tx, { accountId, userId, passwordHash, method, hash, address, userAgent });
  if (!made) throw new AppError('unauthenticated');
  await deleteSurplusSessions(tx, { accountId, userId, keep: MAX_SESSIONS_PER_USER });
  const detail = { address, userAgent, method };
  await recordAudit(tx, actor, { action: 'session.create', subject: `session:${made.id}`, detail });
  const { mustEnrol } = made;
  return { token, session: { ...made, accountId, userId, username, role, method, isProven: true, mustEnrol } };
}

/** The part of an actor that decides whether a step-up is needed. */
export type Prover = Pick<Actor, 'session'>;

/**
 * Returns 403 with the code `step_up_required` for a session whose user has not proven their presence within the last
 * ten minutes. Keys and passwords have scopes instead: undefined.
 */
const stepUpError = ({ session }: Prover): AppError | undefined =>
  session && !session.isProven ? new AppError('step_up_required') : undefined;

/** Throws what `stepUpError` returns, for operations that need a step-up only in some cases. */
export function assertStepUp(actor: Prover): void {
  const error = stepUpError(actor);
  if (error) throw error;
}

/** Returns the session of the caller. Errors: 403 for credentials that are not a session. */
export function sessionOf({ session }: Prover): Session {
  if (!session) throw new AppError('forbidden', { message: 'These credentials are not a session' });
  return session;
}

/**
 * Lets an operator look at another account, even a suspended one; null returns to their own. The audit log of the
 * visited account records when an operator came and left. Returns the parts of the actor, as of the next request, that
 * describe the session. Call it in a transaction without the rights of an account: it changes several. Errors: 403 for
 * callers who are not operators or have no session; 404 for an unknown account.
 */
async function switchAccount(
  tx: Db,
  actor: Actor,
  { accountId }: { accountId: number | null },
): Promise<Pick<Actor, 'accountId' | 'isOperator' | 'session'>> {
  const { session, isOperator = false } = actor;
  if (!session || !isOperator)
    throw new AppError('forbidden', { message: 'Only operators who are signed in may do this' });
  const [from, to] = [actor.accountId, accountId ?? session.accountId];
  if (!(await findShownAccount(tx, { accountId: to }))) throw new AppError('not_found');
  const { id, accountId: own, username } = session;
  const moved = await updateActingAccount(tx, { accountId: own, id, actingAccountId: to === own ? null : to });
  if (moved === 0) throw new AppError('unauthenticated');
  const visits = [
    { at: from, looks: false },
    { at: to, looks: true },
  ].filter(({ at }) => from !== to && at !== own);
  for (const { at, looks } of visits)
    await recordAudit(tx, operatorAuthor(at, username), {
      action: 'session.switch',
      subject: `account:${at}`,
      detail: { looks },
    });
  return { accountId: to, isOperator, session };
}
