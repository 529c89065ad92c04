import { countRequest, limitOfSessions, refuseAtGate, SESSION_RATE } from '../accounts/gate.ts';
import type { UsageTracker } from '../api-keys/last-used.ts';
import { groupCommit } from '../../platform/db/group-commit.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Actor, Authenticated, Session } from '../../platform/lib/actor.ts';
import { channelSet } from '../../platform/lib/channel.ts';
import type { RateLimiter } from '../../platform/lib/limits/rate-limit.ts';
import { numberRulesOf } from '../../platform/lib/phone/number-rules.ts';
import { type Scope, scopesOfRole } from '../../platform/lib/scope.ts';
import { roleIn } from '../roles.ts';
import { type LiveSession, listLiveSessions } from './sql.ts';
import { hashOfToken } from './token.ts';

/** The scopes of a session that has to add a second factor first (see also `guard.ts`). */
const NO_SCOPES: ReadonlySet<Scope> = new Set();

type Deps = { readonly db: Db; readonly usage: UsageTracker; readonly requests: RateLimiter };

/**
 * Creates a function that authenticates by a session token, read from the database like keys. The user's own account
 * decides if the user may enter, whichever account the session is looking at. An invalid token is 401 and does not
 * count as a failed attempt: tokens cannot be guessed, and a page left open after the end of its session must not use
 * up the attempts of its network.
 */
export function createSessionCheck({
  db,
  usage,
  requests,
}: Deps): (token: string, ip: string) => Promise<Authenticated> {
  const find = groupCommit({ flush: (hashes: Buffer[]) => findLiveSessions(db, hashes), inFlight: 2 });
  return async (token, ip) => {
    const hash = hashOfToken(token);
    const session = hash && (await find(hash));
    if (!session) throw new AppError('unauthenticated');
    usage.used(session.sessionId);
    refuseAtGate(session, ip);
    const own = { name: `c${session.sessionId}`, rate: SESSION_RATE };
    return { actor: actorOf(session), headers: countRequest(requests, own, limitOfSessions(session)) };
  };
}

async function findLiveSessions(db: Db, hashes: Buffer[]): Promise<(LiveSession | undefined)[]> {
  const rows = await listLiveSessions(db, { hashes });
  const found = new Map(rows.map((row) => [row.hash.toString('hex'), row]));
  return hashes.map((hash) => found.get(hash.toString('hex')));
}

function actorOf(row: LiveSession): Actor {
  const account = row.acting ?? row;
  const { accountId, plan, channels, hasOptOuts } = account;
  const { username, mustEnrol } = row;
  const session = sessionOf(row);
  const role = roleIn(accountId, session);
  return {
    kind: row.acting ? 'operator' : 'user',
    accountId,
    keyId: null,
    userId: row.acting ? null : row.userId,
    username,
    role,
    operations: mustEnrol ? NO_SCOPES : scopesOfRole(role),
    plan,
    channels: channelSet(channels),
    hasOptOuts,
    numberRules: numberRulesOf(account),
    isOperator: row.isOperator && !mustEnrol,
    session,
  };
}

function sessionOf(row: LiveSession): Session {
  const { accountId, userId, username, role, createdAt, expiresAt, method, isProven, mustEnrol } = row;
  return { id: row.sessionId, accountId, userId, username, role, createdAt, expiresAt, method, isProven, mustEnrol };
}
