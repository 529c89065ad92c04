import {
  type Actor,
  type Authenticate,
  type Authenticated,
  type CheckPassword,
  type SignInLimits,
  scopesOfKey,
  scopesOfRole,
  sendingRulesOf,
} from '../core/actor.ts';
import { networkOf } from '../core/address.ts';
import { channelSet } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { createSharedLimiter, type SharedLimiter } from '../core/db/shared-limiter.ts';
import { groupCommit } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { faultPoint } from '../core/faults.ts';
import { createRateLimiter, type Rate, type RateLimiter, rateHeaders } from '../core/limits.ts';
import type { Log } from '../core/log.ts';
import type { Listeners } from '../core/notifications.ts';
import { numberRulesOf } from '../core/phone.ts';
import { readCredentials } from '../core/secrets.ts';
import { type AccountGate, countRequest, type Limit, limitOfKeys, rateOf, refuseAtGate } from './accounts.ts';
import { hashOfKey, type LiveKey, listLiveKeys, trackUsage, type UsageTracker } from './api-keys.ts';
import { createLoginLimits, type LoginLimits } from './password.ts';
import { createSessionCheck, updateLastSeen } from './sessions.ts';
import { createNetworkRecorder, createPasswordCheck, type Login, listLogins } from './users.ts';

/**
 * Counts a request that a signature proves to be of an account, as one with a key of this name. Throws 429 beyond the
 * limits of the account.
 */
export type CountSigned = (name: string, gate: AccountGate) => void;

export type Authenticator = {
  readonly authenticate: Authenticate;
  /** Checks the password of a user who signs in. */
  readonly checkPassword: CheckPassword;
  /** Limits all attempts other than passwords, by users and by unauthenticated clients. */
  readonly signInLimits: SignInLimits;
  readonly countSigned: CountSigned;
  /** The limits of failed attempts, for other ways to sign in. */
  readonly loginLimits: LoginLimits;
  /** Receive the counts of other processes. */
  readonly listeners: Listeners;
  /** Writes the remaining `lastUsedAt`, `lastSeenAt` and counts; call it before the pool is closed. */
  close(): Promise<void>;
};

const REQUESTS_CHANNEL = 'heliograph_requests';
const FAILURES_CHANNEL = 'heliograph_failures';

/** The limits of requests, by key, user and account. */
export const REQUESTS = faultPoint<SharedLimiter>();

/**
 * Creates the authenticator. Every request reads its key, user or session from the database, concurrent ones in one
 * query (at most two in progress), and nothing is cached: a revoked key, a changed password, an ended session, a
 * suspended account, a new allow-list and a new limit take effect with the next request, on every process.
 */
export function createAuthenticator({ pool, log }: { pool: Db; log: Log }): Authenticator {
  const usage = trackUsage({ db: pool, log });
  const seen = trackUsage({ db: pool, log, move: updateLastSeen });
  const requests = REQUESTS.pass(createSharedLimiter({ db: pool, log, channel: REQUESTS_CHANNEL }));
  const failures = createSharedLimiter({ db: pool, log, channel: FAILURES_CHANNEL });
  const limits = createLoginLimits(failures);
  const byKey = createKeyCheck({ db: pool, usage, requests, limits });
  const noteNetwork = createNetworkRecorder({ db: pool, log });
  const byPassword = createLoginCheck({ db: pool, noteNetwork, requests, limits });
  const byBasic = createBasicCheck(byPassword);
  const bySession = createSessionCheck({ db: pool, usage: seen, requests });
  return {
    authenticate: async (call) => {
      const { ip } = call;
      const shown = readCredentials(call);
      if (shown.kind === 'key') return byKey(shown.value, ip);
      if (shown.kind === 'basic') return byBasic(shown, ip);
      if (shown.kind === 'session') return bySession(shown.token, ip);
      throw new AppError('unauthenticated');
    },
    checkPassword: ({ username, password }, ip) => byPassword({ username, password }, ip),
    countSigned: (name, gate) => void countRequest(requests, { name, rate: rateOf(gate) }, limitOfKeys(gate)),
    loginLimits: limits,
    signInLimits: createSignInLimits({ requests, limits, noteNetwork }),
    listeners: { [REQUESTS_CHANNEL]: requests.onNotify, [FAILURES_CHANNEL]: failures.onNotify },
    close: async () => void (await Promise.all([usage, seen, requests, failures].map((each) => each.close()))),
  };
}

type KeyDeps = {
  readonly db: Db;
  readonly usage: UsageTracker;
  readonly requests: RateLimiter;
  readonly limits: LoginLimits;
};

function createKeyCheck({
  db,
  usage,
  requests,
  limits,
}: KeyDeps): (value: string, ip: string) => Promise<Authenticated> {
  const findKey = groupCommit({ flush: (hashes: Buffer[]) => findLiveKeys(db, hashes), inFlight: 2 });
  return async (value, ip) => {
    const hash = hashOfKey(value);
    const caller = hash && (await findKey(hash));
    if (!caller) throw limits.failedKey(networkOf(ip));
    const { key, actor, own, shared } = caller;
    usage.used(key.keyId);
    refuseAtGate(key, ip);
    return { actor, headers: countRequest(requests, own, shared) };
  };
}

type NoteNetwork = ReturnType<typeof createNetworkRecorder>;
type PasswordDeps = {
  readonly db: Db;
  readonly noteNetwork: NoteNetwork;
  readonly requests: RateLimiter;
  readonly limits: LoginLimits;
};

/**
 * `CheckPassword` whose result also states that the account of the user requires a second factor. A sign-in counts
 * within the limit of the user alone, so that the programs of an account lock no one out of the console; requests also
 * within `shared`.
 */
type LoginCheck = (
  ...shown: [...Parameters<CheckPassword>, shared?: (login: Login) => Limit]
) => Promise<Awaited<ReturnType<CheckPassword>> & { readonly needsSecondFactor: boolean }>;

function createLoginCheck({ db, noteNetwork, requests, limits }: PasswordDeps): LoginCheck {
  const checkPassword = createPasswordCheck(limits);
  const findLogin = groupCommit({ flush: (usernames: string[]) => findLogins(db, usernames), inFlight: 2 });
  return async ({ username, password }, ip, shared) => {
    const network = networkOf(ip);
    const login = isUsername(username) ? await findLogin(username) : undefined;
    const known = login?.networks.includes(network) === true;
    // Also for an unknown user, which must take as long.
    await checkPassword({ username, network, known }, password, login?.passwordHash);
    if (!login) throw new AppError('unauthenticated');
    refuseAtGate(login, ip);
    if (!login.passwordSignsIn)
      throw new AppError('forbidden', { message: 'Passwords do not sign in to this account: use single sign-on' });
    const { passwordHash, hasSecondFactor, needsSecondFactor } = login;
    // A password alone does not make a network known if the user has a second factor to show.
    if (!hasSecondFactor) await noteNetwork(login.userId, network);
    const headers = countRequest(requests, { name: `u${login.userId}`, rate: rateOf(login) }, shared?.(login));
    return { actor: actorOfLogin(login), headers, passwordHash, hasSecondFactor, needsSecondFactor };
  };
}

/** A password in the headers of a request would bypass the second factor. */
function createBasicCheck(check: LoginCheck): (...shown: Parameters<CheckPassword>) => Promise<Authenticated> {
  return async (shown, ip) => {
    const { actor, headers, hasSecondFactor, needsSecondFactor } = await check(shown, ip, limitOfKeys);
    if (hasSecondFactor || needsSecondFactor)
      throw new AppError('forbidden', {
        message: hasSecondFactor
          ? 'This user has a second factor, so the password alone is not accepted here: use an API key'
          : 'The account requires a second factor, so passwords are not accepted here: use an API key',
      });
    return { actor, headers };
  };
}

/** Rate at which one network, or one pending sign-in, may begin with a passkey. */
const BEGINS: Rate = { perMinute: 60, perSecond: 20 };

type LimitDeps = { readonly requests: RateLimiter; readonly limits: LoginLimits; readonly noteNetwork: NoteNetwork };

function createSignInLimits({ requests, limits, noteNetwork }: LimitDeps): SignInLimits {
  return {
    async guess(username, ip, check) {
      // Only a user who has shown a password or a session gets here, so unauthenticated clients cannot use up these
      // guesses.
      const attempt = { username, network: networkOf(ip), known: true };
      limits.countAttempt(attempt);
      let found: Awaited<ReturnType<typeof check>> | undefined;
      try {
        found = await check();
      } finally {
        if (found !== null) limits.refund(attempt);
      }
      if (found === null) throw limits.failedAttempt(attempt);
      return found;
    },
    begin(whose) {
      const name = 'ip' in whose ? `p${networkOf(whose.ip)}` : `t${whose.pending.toString('base64url')}`;
      countRequest(requests, { name, rate: BEGINS });
    },
    failed: (ip) => limits.failedKey(networkOf(ip)),
    succeeded: (userId, ip) => noteNetwork(userId, networkOf(ip)),
  };
}

/**
 * Returns true if the table could contain this name. A NUL would fail the query, and with it all other requests in the
 * batch.
 */
const isUsername = (name: string): boolean => name.length <= 200 && !name.includes('\0');

/** A key, and what all requests with it in one batch have in common. */
type KeyCaller = { readonly key: LiveKey; readonly actor: Actor; readonly own: Limit; readonly shared: Limit };

const callerOf = (key: LiveKey): KeyCaller => ({
  key,
  actor: actorOfKey(key),
  own: { name: `k${key.keyId}`, rate: rateOf(key) },
  shared: limitOfKeys(key),
});

async function findLiveKeys(db: Db, hashes: Buffer[]): Promise<(KeyCaller | undefined)[]> {
  const wanted = hashes.map((hash) => hash.toString('hex'));
  const distinct = new Map(wanted.map((hex, index) => [hex, hashes[index]] as const));
  const rows = await listLiveKeys(db, { hashes: [...distinct.values()].filter((hash) => hash !== undefined) });
  const found = new Map(rows.map((row) => [row.hash.toString('hex'), callerOf(row)]));
  return wanted.map((hex) => found.get(hex));
}

async function findLogins(db: Db, usernames: string[]): Promise<(Login | undefined)[]> {
  const rows = await listLogins(db, { usernames: [...new Set(usernames)] });
  const found = new Map(rows.map((row) => [row.username, row]));
  return usernames.map((username) => found.get(username));
}

const actorOfKey = (key: LiveKey): Actor => ({
  kind: 'key',
  accountId: key.accountId,
  keyId: key.keyId,
  userId: key.userId,
  username: key.username,
  role: key.role,
  operations: scopesOfKey(key.role, key.operations),
  plan: key.plan,
  channels: channelSet(key.channels),
  hasOptOuts: key.hasOptOuts,
  numberRules: numberRulesOf(key),
  sendingRules: sendingRulesOf(key, key.purpose),
});

export const actorOfLogin = (login: Login): Actor => ({
  kind: 'user',
  accountId: login.accountId,
  keyId: null,
  userId: login.userId,
  username: login.username,
  role: login.role,
  operations: scopesOfRole(login.role),
  plan: login.plan,
  channels: channelSet(login.channels),
  hasOptOuts: login.hasOptOuts,
  numberRules: numberRulesOf(login),
  sendingRules: sendingRulesOf(login),
  isOperator: login.isOperator,
});

/**
 * Creates a limit on requests without credentials, by the caller's network: throws 429 beyond `perMinute`. Each process
 * counts by itself, since these requests cost little and what they cause is limited in the database too.
 */
export function createAddressLimit(perMinute: number): (ip: string) => void {
  const limiter = createRateLimiter();
  return (ip) => {
    const verdict = limiter.take(networkOf(ip), { perMinute, perSecond: perMinute });
    if (verdict.allowed) return;
    throw new AppError('rate_limited', {
      retryAfterSeconds: verdict.retryAfterSeconds,
      headers: rateHeaders(verdict),
    });
  };
}
