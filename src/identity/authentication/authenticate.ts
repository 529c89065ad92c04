import { hashOfKey } from '../api-keys/key.ts';
import { trackUsage, type UsageTracker } from '../api-keys/last-used.ts';
import { listLiveKeys, type LiveKey } from '../api-keys/sql.ts';
import { groupCommit } from '../../platform/db/group-commit.ts';
import type { Db } from '../../platform/db/query.ts';
import { createSharedLimiter } from '../../platform/db/shared-limiter.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor, Authenticated, Authenticate, CheckPassword } from '../../platform/lib/actor.ts';
import { networkOf } from '../../platform/lib/address.ts';
import { channelSet } from '../../platform/lib/channel.ts';
import { readCredentials } from '../../platform/lib/credentials.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { RateLimiter } from '../../platform/lib/limits/rate-limit.ts';
import { scopesOfKey, scopesOfRole } from '../../platform/lib/scope.ts';
import { createSessionCheck } from '../sessions/check.ts';
import { updateLastSeen } from '../sessions/sql.ts';
import { createPasswordCheck } from '../users/check-password.ts';
import { createNetworkRecorder } from '../users/known-networks.ts';
import { createLoginLimits, type LoginLimits } from '../users/login-limits.ts';
import { listLogins, type Login } from '../users/sql.ts';
import { countRequest, rateOf, refuseAtGate } from '../accounts/gate.ts';

export type Authenticator = {
  readonly authenticate: Authenticate;
  /** Checks the password of a user who signs in. */
  readonly checkPassword: CheckPassword;
  /** The NOTIFY channels by which processes share their counts; pass their notifications to `onNotify`. */
  readonly channels: readonly string[];
  onNotify(channel: string, payload: string): void;
  /** Writes the remaining `lastUsedAt`, `lastSeenAt` and counts; call it before the pool is closed. */
  close(): Promise<void>;
};

const REQUESTS_CHANNEL = 'heliograph_requests';
const FAILURES_CHANNEL = 'heliograph_failures';

/**
 * Creates the authenticator. Every request reads its key, user or session from the database, concurrent ones in one
 * query (at most two in progress), and nothing is cached: a revoked key, a changed password, an ended session, a
 * suspended account, a new allow-list and a new limit take effect with the next request, on every process.
 */
export function createAuthenticator({ pool, log }: { pool: Db; log: Log }): Authenticator {
  const usage = trackUsage({ db: pool, log });
  const seen = trackUsage({ db: pool, log, move: updateLastSeen });
  const requests = createSharedLimiter({ db: pool, log, channel: REQUESTS_CHANNEL });
  const failures = createSharedLimiter({ db: pool, log, channel: FAILURES_CHANNEL });
  const limits = createLoginLimits(failures);
  const byKey = createKeyCheck({ db: pool, usage, requests, limits });
  const byPassword = createLoginCheck({ db: pool, log, requests, limits });
  const bySession = createSessionCheck({ db: pool, usage: seen, requests });
  return {
    authenticate: async (call) => {
      const { ip } = call;
      const shown = readCredentials(call);
      if (shown.kind === 'key') return byKey(shown.value, ip);
      if (shown.kind === 'basic') return byPassword(shown, ip);
      if (shown.kind === 'session') return bySession(shown.token, ip);
      throw new AppError('unauthenticated');
    },
    checkPassword: byPassword,
    channels: [REQUESTS_CHANNEL, FAILURES_CHANNEL],
    onNotify: (channel, payload) => (channel === REQUESTS_CHANNEL ? requests : failures).onNotify(payload),
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
    const key = hash && (await findKey(hash));
    if (!key) throw limits.failedKey(networkOf(ip));
    usage.used(key.keyId);
    refuseAtGate(key, ip);
    return { actor: actorOfKey(key), headers: countRequest(requests, `k${key.keyId}`, rateOf(key)) };
  };
}

type PasswordDeps = {
  readonly db: Db;
  readonly log: Log;
  readonly requests: RateLimiter;
  readonly limits: LoginLimits;
};

function createLoginCheck({ db, log, requests, limits }: PasswordDeps): CheckPassword {
  const checkPassword = createPasswordCheck(limits);
  const noteNetwork = createNetworkRecorder({ db, log });
  const findLogin = groupCommit({ flush: (usernames: string[]) => findLogins(db, usernames), inFlight: 2 });
  return async ({ username, password }, ip) => {
    const network = networkOf(ip);
    const login = isUsername(username) ? await findLogin(username) : undefined;
    const known = login?.networks.includes(network) === true;
    // Also for an unknown user, which must take as long.
    await checkPassword({ username, network, known }, password, login?.passwordHash);
    if (!login) throw new AppError('unauthenticated');
    refuseAtGate(login, ip);
    await noteNetwork(login.userId, network);
    const headers = countRequest(requests, `u${login.userId}`, rateOf(login));
    return { actor: actorOfLogin(login), headers, passwordHash: login.passwordHash };
  };
}

/**
 * Whether the table could contain this name. A NUL would fail the query, and with it all other requests in the batch.
 */
const isUsername = (name: string): boolean => name.length <= 200 && !name.includes('\0');

async function findLiveKeys(db: Db, hashes: Buffer[]): Promise<(LiveKey | undefined)[]> {
  const wanted = hashes.map((hash) => hash.toString('hex'));
  const distinct = new Map(wanted.map((hex, index) => [hex, hashes[index]] as const));
  const rows = await listLiveKeys(db, { hashes: [...distinct.values()].filter((hash) => hash !== undefined) });
  const found = new Map(rows.map((row) => [row.hash.toString('hex'), row]));
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
});

const actorOfLogin = (login: Login): Actor => ({
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
  isOperator: login.isOperator,
});
