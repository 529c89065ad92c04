import { hashOfKey } from '../api-keys/key.ts';
import { trackUsage, type UsageTracker } from '../api-keys/last-used.ts';
import { listLiveKeys, type LiveKey } from '../api-keys/sql.ts';
import { groupCommit } from '../db/group-commit.ts';
import type { Db } from '../db/query.ts';
import { AppError } from '../errors.ts';
import type { Actor, Authenticate } from '../http/actor.ts';
import { readCredentials } from '../lib/credentials.ts';
import type { Log } from '../lib/log.ts';
import { scopesOfKey, scopesOfRole } from '../lib/scope.ts';
import { listLogins, type Login } from '../users/sql.ts';
import { createPasswordVerifier } from '../users/verifier.ts';

export type Authenticator = {
  readonly authenticate: Authenticate;
  /** Writes what is left of `lastUsedAt`; call it before the pool is closed. */
  close(): Promise<void>;
};

/**
 * Finds out who calls. Every request reads its key or its user from the database, all that wait at this moment in one
 * query (two under way at most), and nothing is cached: a revoked key, a changed password and a suspended account end
 * with the next request, on every process.
 */
export function createAuthenticator({ pool, log }: { pool: Db; log: Log }): Authenticator {
  const usage = trackUsage({ db: pool, log });
  const byKey = keyCheck(pool, usage);
  const byPassword = passwordCheck(pool);
  const authenticate: Authenticate = async (headers) => {
    const shown = readCredentials(headers);
    if (shown.kind === 'key') return byKey(shown.value);
    if (shown.kind === 'basic') return byPassword(shown.username, shown.password);
    throw new AppError('unauthenticated');
  };
  return { authenticate, close: usage.close };
}

function keyCheck(db: Db, usage: UsageTracker): (value: string) => Promise<Actor> {
  const findKey = groupCommit({ flush: (hashes: Buffer[]) => findLiveKeys(db, hashes), inFlight: 2 });
  return async (value) => {
    const hash = hashOfKey(value);
    const key = hash && (await findKey(hash));
    if (!key) throw new AppError('unauthenticated');
    usage.used(key.keyId);
    return actorOfKey(refuseSuspended(key));
  };
}

function passwordCheck(db: Db): (username: string, password: string) => Promise<Actor> {
  const verify = createPasswordVerifier();
  const findLogin = groupCommit({ flush: (usernames: string[]) => findLogins(db, usernames), inFlight: 2 });
  return async (username, password) => {
    const login = isUsername(username) ? await findLogin(username) : undefined;
    // Also without a login: it must take as long as with one.
    const right = await verify(username, password, login?.passwordHash);
    if (!login || !right) throw new AppError('unauthenticated');
    return actorOfLogin(refuseSuspended(login));
  };
}

/** One that the table could hold. A NUL would fail the query, and with it everybody else in the batch. */
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

/** Only for credentials that were right: a stranger does not learn which accounts are suspended. */
function refuseSuspended<T extends { accountStatus: string }>(row: T): T {
  if (row.accountStatus === 'suspended') throw new AppError('forbidden', { message: 'The account is suspended' });
  return row;
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
});
