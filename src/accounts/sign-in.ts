import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import type { CheckPassword, Session, SignInLimits, SignInMethod } from '../core/actor.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { type App, ErrorOut, type PlatformDeps, ref, withExamples } from '../core/http/app.ts';
import { requireCredentials } from '../core/http/auth.ts';
import { isSecure, requireSameOrigin, sessionCookie } from '../core/http/browser.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { refuseAtGate } from './accounts.ts';
import {
  BrowserOptions,
  type PasskeyAnswer,
  PasskeyBody,
  passkeyOptions,
  type RelyingParty,
  relyingPartyOf,
  verifyPasskey,
} from './passkeys.ts';
import { code } from './second-factor-routes.ts';
import { type CodeDeps, checkCode, type FactorOwner, findFactorSummary, listPasskeys } from './second-factors.ts';
import { describeSession, SessionOut, type SignedIn, type SignInUser, sessionOf, signIn } from './session-routes.ts';
import {
  deletePendingSignIn,
  findPendingSignIn,
  generateToken,
  hashOfToken,
  insertPendingSignIn,
  type PendingSignIn,
  SESSION_SECONDS,
  updatePendingTries,
  updateProven,
} from './sessions.ts';

/** The longest body with a passkey: more than other routes without credentials need. */
const PASSKEY_BODY_BYTES = 32 * 1024;

const CODE = 'Six digits of the authenticator app, or a recovery code.';

const SignInBody = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 200 }),
  password: Type.String({ minLength: 1, maxLength: 200 }),
});

const pendingToken = Type.String({ maxLength: 100, description: 'From the response to `POST /session`.' });

const PendingOut = Type.Object(
  {
    pendingToken: Type.String({
      description:
        'For the second step alone, within five minutes and for five tries. It gives access to nothing else.',
    }),
    factors: Type.Array(Type.Enum(['totp', 'passkey', 'recovery-code'], { type: 'string' }), {
      description: 'The factors with which the user can sign in.',
    }),
  },
  { description: 'The password was right. A second factor is required.' },
);

const CodeBody = Type.Object({ pendingToken, code: code(CODE) });

const PasskeyOptionsBody = Type.Object({ pendingToken: Type.Optional(pendingToken) });

const PasskeySignInBody = Type.Object({ pendingToken: Type.Optional(pendingToken), passkey: PasskeyBody });

const StepUpBody = Type.Object(
  {
    password: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    code: Type.Optional(code(CODE)),
    passkey: Type.Optional(PasskeyBody),
  },
  { description: 'Exactly one of them.' },
);

const TOKEN_EXAMPLE = 'pQ3nW7xK9sT1vZ5bC8dF2gH4jL6mR0yA-uE_iO7kX2w';
const PENDING_EXAMPLE: Static<typeof PendingOut> = {
  pendingToken: TOKEN_EXAMPLE,
  factors: ['totp', 'recovery-code'],
};
const PASSKEY_EXAMPLE: Static<typeof PasskeyBody> = {
  id: 'AVxG9hK1r0f1v3sO5mJ2wQ',
  rawId: 'AVxG9hK1r0f1v3sO5mJ2wQ',
  type: 'public-key',
  response: {
    clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0',
    authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ',
    signature: 'MEUCIQDx2kF0',
  },
};

const SESSION = '/api/partner-gateway/v1/session';
const tags = ['Sessions'];
const refusals = { 401: ref(ErrorOut), 403: ref(ErrorOut), 404: ref(ErrorOut), 429: ref(ErrorOut) };

const callerOf = ({ ip, headers }: FastifyRequest): Caller => ({ ip, userAgent: headers['user-agent'] ?? '' });

/** Registers signing in. Register it outside the scope that requires authentication: its bodies have the credentials. */
export function signInRoutes(app: App, deps: PlatformDeps): void {
  const onRequest = requireSameOrigin;
  const { pool, config } = deps;
  const describe = ({ session, isOperator }: Begun) =>
    describeSession(tenant(pool, session), shownOf({ session, isOperator }));
  const cookieOf = (request: FastifyRequest, { token }: Begun) => ({
    'set-cookie': sessionCookie(token, SESSION_SECONDS, isSecure(request)),
  });

  app.post(SESSION, {
    onRequest,
    schema: {
      tags,
      operationId: 'signIn',
      summary: 'Sign in and get a session cookie',
      description:
        'For pages of the console: requires the header `X-Heliograph-Console: 1` and the same origin (else 403). Passwords ' +
        'are checked, and failed attempts limited, as with Basic. All routes accept the cookie; with it, requests that ' +
        'may change something also need that header and the same origin. A user with a second factor gets 202 and no ' +
        'cookie yet, but a token for `POST /session/second-factor` or `POST /session/passkey`.',
      security: [],
      body: withExamples(SignInBody, {
        username: 'demo',
        password: 'the password that the first start printed',
      }),
      response: { 200: SessionOut, 202: withExamples(PendingOut, PENDING_EXAMPLE), ...refusals },
    },
    handler: async (request, reply) => {
      const result = await signInByPassword(deps, request.body, callerOf(request));
      reply.headers({ ...result.headers });
      if ('pendingToken' in result) {
        reply.code(202);
        return { pendingToken: result.pendingToken, factors: result.factors };
      }
      reply.headers(cookieOf(request, result));
      return describe(result);
    },
  });

  app.post(`${SESSION}/second-factor`, {
    onRequest,
    schema: {
      tags,
      operationId: 'completeSignIn',
      summary: 'Complete a sign-in with a code',
      description:
        'With a code of the authenticator app, which counts once, or a recovery code. 401: the code is wrong. 404: the ' +
        'sign-in has ended, after five minutes or five tries; begin again with the password. 429: too many wrong codes.',
      security: [],
      body: withExamples(CodeBody, { pendingToken: TOKEN_EXAMPLE, code: '492039' }),
      response: { 200: SessionOut, ...refusals },
    },
    handler: async (request, reply) => {
      const begun = await completeByCode(deps, request.body, callerOf(request));
      reply.headers(cookieOf(request, begun));
      return describe(begun);
    },
  });

  app.post(`${SESSION}/passkey-options`, {
    onRequest,
    schema: {
      tags,
      operationId: 'beginPasskeySignIn',
      summary: 'Begin to sign in with a passkey',
      description:
        'Returns the options for `navigator.credentials.get`, valid for five minutes: with a pending token for the passkeys of ' +
        'that user, without one for any passkey on the device.',
      security: [],
      body: withExamples(PasskeyOptionsBody, {}),
      response: { 200: BrowserOptions, ...refusals },
    },
    handler: async (request) => {
      const party = relyingPartyOf(request, config);
      return beginPasskeySignIn(deps, party, request.body.pendingToken, callerOf(request));
    },
  });

  app.post(`${SESSION}/passkey`, {
    onRequest,
    bodyLimit: PASSKEY_BODY_BYTES,
    schema: {
      tags,
      operationId: 'signInWithPasskey',
      summary: 'Sign in with a passkey',
      description:
        'With a pending token it is the second factor; without one it stands alone, and the device must have verified its ' +
        'user. 401: the passkey is unknown or its response does not fit.',
      security: [],
      body: withExamples(PasskeySignInBody, { passkey: PASSKEY_EXAMPLE }),
      response: { 200: SessionOut, ...refusals },
    },
    handler: async (request, reply) => {
      const party = relyingPartyOf(request, config);
      const begun = await signInByPasskey(deps, party, request.body, callerOf(request));
      reply.headers(cookieOf(request, begun));
      return describe(begun);
    },
  });
}

/** Registers the routes by which a session proves that its user is present. */
export function stepUpRoutes(app: App, deps: PlatformDeps): void {
  const { pool, config, answers } = deps;
  const onRequest = requireCredentials();

  app.post(`${SESSION}/step-up/passkey-options`, {
    onRequest,
    schema: {
      tags,
      operationId: 'beginStepUpPasskey',
      summary: 'Start step-up authentication with a passkey',
      response: { 200: BrowserOptions },
    },
    handler: idempotentHandler({ answers }, async (request) => {
      const session = sessionOf(request.actor);
      const passkeys = await listPasskeys(tenant(pool, session), session);
      const use = { purpose: 'step-up', userId: session.userId } as const;
      return passkeyOptions(pool, relyingPartyOf(request, config), use, passkeys);
    }),
  });

  app.post(`${SESSION}/step-up`, {
    onRequest,
    schema: {
      tags,
      operationId: 'stepUp',
      summary: 'Re-authenticate (step-up)',
      description:
        'With the password, a code or a passkey. For the next ten minutes the session may do what otherwise is 403 with ' +
        'the code `step_up_required`: the operations with `x-step-up`. A sign-in counts as well. Users who sign in with ' +
        'their company can do it with `POST /session/step-up/single-sign-on`, too. Only for sessions; 403 for keys and ' +
        'passwords.',
      body: withExamples(StepUpBody, { password: 'the password that the first start printed' }),
      response: { 200: SessionOut },
    },
    handler: idempotentHandler({ answers }, async (request) => {
      const { actor, ip, body } = request;
      const session = sessionOf(actor);
      await stepUp(deps, session, body, { ip, party: relyingPartyOf(request, config) });
      return describeSession(tenant(pool, actor), actor);
    }),
  });
}

type SignInDeps = CodeDeps & {
  readonly pool: Pool;
  readonly checkPassword: CheckPassword;
  readonly signInLimits: SignInLimits;
};

type Caller = { readonly ip: string; readonly userAgent: string };

/** A session with its new token; `isOperator` is true for an operator of the gateway. */
type Begun = SignedIn & { readonly isOperator: boolean; readonly headers?: Readonly<Record<string, string>> };

/** A sign-in that awaits its second factor. */
type Pending = {
  readonly pendingToken: string;
  readonly factors: ('totp' | 'passkey' | 'recovery-code')[];
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Signs in by password, or begins a sign-in that needs a second factor as well: its token gives access to nothing else,
 * for five minutes. Errors: those of `CheckPassword`.
 */
async function signInByPassword(
  { pool, checkPassword }: SignInDeps,
  shown: { username: string; password: string },
  caller: Caller,
): Promise<Begun | Pending> {
  const { actor, headers, passwordHash, hasSecondFactor } = await checkPassword(shown, caller.ip);
  const { accountId, userId, isOperator = false } = actor;
  if (hasSecondFactor && userId !== null) {
    const { token, hash } = generateToken();
    const db = tenant(pool, actor);
    const made = await insertPendingSignIn(db, { accountId, userId, passwordHash, hash });
    if (made === 0) throw new AppError('unauthenticated');
    return { pendingToken: token, factors: await factorsOf(db, { accountId, userId }), headers };
  }
  const input = { ...caller, passwordHash, method: 'password' } as const;
  const begun = await tenantTransaction(pool, actor, (tx) => signIn(tx, actor, input));
  return { ...begun, isOperator, headers };
}

async function factorsOf(db: Db, owner: FactorOwner): Promise<Pending['factors']> {
  const [summary, passkeys] = await Promise.all([findFactorSummary(db, owner), listPasskeys(db, owner)]);
  const factors: Pending['factors'] = [];
  if (summary?.totpSince) factors.push('totp');
  if (passkeys.length > 0) factors.push('passkey');
  if (summary && summary.recoveryCodes > 0) factors.push('recovery-code');
  return factors;
}

const ended = (): AppError => new AppError('not_found', { message: 'This sign-in has ended: begin again' });

/**
 * Finds a pending sign-in by its token. Errors: 404 if it has ended, 403 if its account allows no sign-in from here.
 */
async function findPending(pool: Pool, token: string, ip: string): Promise<PendingSignIn & { hash: Buffer }> {
  const hash = hashOfToken(token);
  const pending = hash && (await findPendingSignIn(pool, { hash }));
  if (!pending) throw ended();
  refuseAtGate(pending, ip);
  return { ...pending, hash };
}

/**
 * Completes a pending sign-in with a one-time code or a recovery code. Errors: 401 for a wrong code; 404 when the sign-in
 * has ended, as it does after five tries; 429 after too many tries in all.
 */
async function completeByCode(
  deps: SignInDeps,
  { pendingToken, code }: { pendingToken: string; code: string },
  caller: Caller,
): Promise<Begun> {
  const { pool, signInLimits } = deps;
  const { hash, ...user } = await findPending(pool, pendingToken, caller.ip);
  const method = await signInLimits.guess(user.username, caller.ip, async () => {
    if ((await updatePendingTries(tenant(pool, user), { accountId: user.accountId, hash })) === 0) throw ended();
    return tenantTransaction(pool, user, (tx) => checkCode(tx, deps, user, code));
  });
  return complete(deps, user, { ...caller, method, hash });
}

/**
 * Returns the options that the browser needs for a passkey: of the user of a pending sign-in, or of a user not yet
 * known.
 */
async function beginPasskeySignIn(
  { pool, signInLimits }: SignInDeps,
  party: RelyingParty,
  pendingToken: string | undefined,
  { ip }: Caller,
): Promise<object> {
  if (pendingToken === undefined) {
    signInLimits.begin({ ip });
    return passkeyOptions(pool, party, { purpose: 'sign-in', userId: null }, []);
  }
  const user = await findPending(pool, pendingToken, ip);
  signInLimits.begin({ pending: user.hash });
  const passkeys = await listPasskeys(tenant(pool, user), user);
  return passkeyOptions(pool, party, { purpose: 'second-step', userId: user.userId }, passkeys);
}

/**
 * Signs in by a passkey, either as the second factor of a pending sign-in or alone, and then only if the authenticator
 * has verified its user. Errors: 401 for a passkey that does not fit, 403 if its account allows no sign-in from here,
 * 404 when the pending sign-in has ended, 429 for too many failures.
 */
async function signInByPasskey(
  deps: SignInDeps,
  party: RelyingParty,
  { pendingToken, passkey }: { pendingToken?: string; passkey: PasskeyAnswer },
  caller: Caller,
): Promise<Begun> {
  const { pool, signInLimits } = deps;
  const pending = pendingToken === undefined ? undefined : await findPending(pool, pendingToken, caller.ip);
  const use = { purpose: pending ? 'second-step' : 'sign-in', userId: pending?.userId ?? null } as const;
  const signer = await verifyPasskey(pool, party, use, passkey);
  if (!signer) throw signInLimits.failed(caller.ip);
  refuseAtGate(signer, caller.ip);
  if (!signer.signsInHere)
    throw new AppError('forbidden', { message: 'Passkeys do not sign in to this account: use single sign-on' });
  return complete(deps, signer, { ...caller, method: 'passkey', hash: pending?.hash ?? null });
}

type Completed = Pick<PendingSignIn, 'accountId' | 'userId' | 'username' | 'role' | 'isOperator'>;
type Completion = Caller & { readonly method: SignInMethod; readonly hash: Buffer | null };

async function complete(deps: SignInDeps, user: Completed, { hash, ...input }: Completion): Promise<Begun> {
  const { accountId, userId, username, role, isOperator } = user;
  const actor: SignInUser = { kind: 'user', accountId, keyId: null, userId, username, role };
  const begun = await tenantTransaction(deps.pool, actor, async (tx) => {
    const made = await signIn(tx, actor, { ...input, passwordHash: null });
    // The session has locked the user: a change of the password or the factors has ended this sign-in, or will end it.
    if (hash && (await deletePendingSignIn(tx, { accountId, hash })) === 0) throw ended();
    return made;
  });
  await deps.signInLimits.succeeded(userId, input.ip);
  return { ...begun, isOperator };
}

/** Formats a session that has just begun like `describeSession`. */
const shownOf = ({ session, isOperator }: { session: Session; isOperator: boolean }) => ({
  accountId: session.accountId,
  isOperator,
  session,
});

/** One of the three proofs that the user of a session is present. */
type Proof = {
  readonly password?: string | undefined;
  readonly code?: string | undefined;
  readonly passkey?: PasskeyAnswer | undefined;
};

/**
 * Records for ten minutes that the user of this session is present, proven by the password, a code or a passkey.
 * Errors: 400 unless there is exactly one proof, naming it if it is wrong (the session itself is valid, so it is not a
 * 401); 429 for too many wrong ones, which are counted with those of sign-ins.
 */
async function stepUp(
  deps: SignInDeps,
  session: Session,
  proof: Proof,
  { ip, party }: { ip: string; party: RelyingParty },
): Promise<void> {
  const given = (['password', 'code', 'passkey'] as const).filter((kind) => proof[kind] !== undefined);
  const [kind] = given;
  if (kind === undefined || given.length > 1)
    throw invalidFields([{ field: 'password', message: 'or "code" or "passkey" is required, and only one of them' }]);
  const isRight = await isProof(deps, session, proof, { ip, party }).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'unauthenticated') return false;
    throw error;
  });
  if (!isRight) throw invalidFields([{ field: kind, message: 'is not right' }]);
  const { accountId, id } = session;
  const updated = await tenantTransaction(deps.pool, session, (tx) => updateProven(tx, { accountId, id }));
  if (updated === 0) throw new AppError('unauthenticated');
}

async function isProof(
  deps: SignInDeps,
  session: Session,
  { password, code, passkey }: Proof,
  { ip, party }: { ip: string; party: RelyingParty },
): Promise<boolean> {
  const { pool, checkPassword, signInLimits } = deps;
  const { userId, username } = session;
  if (password !== undefined) return (await checkPassword({ username, password }, ip)).actor.userId === userId;
  if (code !== undefined)
    await signInLimits.guess(username, ip, () =>
      tenantTransaction(pool, session, (tx) => checkCode(tx, deps, session, code)),
    );
  if (passkey === undefined) return true;
  const signer = await signInLimits.guess(username, ip, () =>
    verifyPasskey(pool, party, { purpose: 'step-up', userId }, passkey),
  );
  return signer.userId === userId;
}
