import type { Pool } from 'pg';
import { refuseAtGate } from '../accounts/gate.ts';
import type { Db } from '../../platform/db/query.ts';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import type { CheckPassword, Session, SignInLimits, SignInMethod } from '../../platform/lib/actor.ts';
import { checkCode, type CodeDeps } from '../second-factors/check-code.ts';
import type { RelyingParty } from '../second-factors/passkeys/relying-party.ts';
import type { PasskeyAnswer } from '../second-factors/passkeys/schema.ts';
import { passkeyOptions, verifyPasskey } from '../second-factors/passkeys/verify.ts';
import { type FactorOwner, findFactorSummary, listPasskeys } from '../second-factors/sql.ts';
import { type SignedIn, type SignInUser, signIn } from '../sessions/sign-in.ts';
import {
  deletePendingSignIn,
  findPendingSignIn,
  insertPendingSignIn,
  type PendingSignIn,
  updatePendingTries,
} from '../sessions/sql.ts';
import { generateToken, hashOfToken } from '../sessions/token.ts';

export type SignInDeps = CodeDeps & {
  readonly pool: Pool;
  readonly checkPassword: CheckPassword;
  readonly signInLimits: SignInLimits;
};

/** The browser that signs in. */
export type Caller = { readonly ip: string; readonly userAgent: string };

/** A session with its new token; `isOperator` is true for an operator of the gateway. */
export type Begun = SignedIn & { readonly isOperator: boolean; readonly headers?: Readonly<Record<string, string>> };

/** A sign-in that awaits its second factor. */
export type Pending = {
  readonly pendingToken: string;
  readonly factors: ('totp' | 'passkey' | 'recovery-code')[];
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Signs in by password, or begins a sign-in that needs a second factor as well: its token gives access to nothing else,
 * for five minutes. Errors: those of `CheckPassword`.
 */
export async function signInByPassword(
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
export async function completeByCode(
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
export async function beginPasskeySignIn(
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
export async function signInByPasskey(
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
export const shownOf = ({ session, isOperator }: { session: Session; isOperator: boolean }) => ({
  accountId: session.accountId,
  isOperator,
  session,
});
