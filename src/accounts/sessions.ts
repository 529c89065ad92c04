import { createHash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import {
  type Actor,
  type Authenticated,
  type Plan,
  type Role,
  requireAuthority,
  roleIn,
  type Scope,
  type Session,
  type SignInMethod,
  scopesOfRole,
  sendingRulesOf,
} from '../core/actor.ts';
import { type Task, untilIdle } from '../core/background.ts';
import { channelSet } from '../core/channels.ts';
import { as, columns, countRows, type Db, exec, many, maybeOne, onePlan, type RowOf, sql } from '../core/db/query.ts';
import { groupCommit } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import type { RateLimiter } from '../core/limits.ts';
import { type NumberRules, numberRulesOf } from '../core/phone.ts';
import { HOUR_MS } from '../core/time.ts';
import {
  type AccountGate,
  type AccountStatus,
  countRequest,
  GATE,
  limitOfSessions,
  refuseAtGate,
  SESSION_RATE,
} from './accounts.ts';
import type { UsageTracker } from './api-keys.ts';
import { type Author, recordAudit } from './audit.ts';

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
    sendingRules: sendingRulesOf(account),
    isOperator: row.isOperator && !mustEnrol,
    session,
  };
}

function sessionOf(row: LiveSession): Session {
  const { accountId, userId, username, displayName, role, createdAt, expiresAt, method, isProven, mustEnrol } = row;
  const who = { id: row.sessionId, accountId, userId, username, displayName, role };
  return { ...who, createdAt, expiresAt, method, isProven, mustEnrol };
}

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Generates a token of 256 random bits, with the hash that is stored. */
export function generateToken(): { readonly token: string; readonly hash: Buffer } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashOf(token) };
}

/** Returns the hash under which a token is stored; undefined, which saves a query, if it cannot be one of ours. */
export const hashOfToken = (token: string): Buffer | undefined => (TOKEN.test(token) ? hashOf(token) : undefined);

/** Deletes sessions that have ended, and sign-ins that were not completed. */
export const sessionTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'ended sessions', work: untilIdle(() => deleteEndedSessions(pool, { limit: 10_000 }), HOUR_MS) },
  {
    name: 'ended sign-ins',
    work: untilIdle(() => deleteEndedPendingSignIns(pool, { limit: 10_000 }), HOUR_MS),
  },
];

/** A session ends this long after it began, or `IDLE_SECONDS` after its last request, by the database's clock. */
export const SESSION_SECONDS = 7 * 24 * 3600;
/** Time without a request after which a session ends. */
export const IDLE_SECONDS = 12 * 3600;

const EXPIRES = sql`s.created_at + make_interval(secs => ${SESSION_SECONDS})`;
const LIVE = sql`(${EXPIRES} > now() AND s.last_seen_at > now() - make_interval(secs => ${IDLE_SECONDS}))`;

/** Time for which a session counts as proven after its user has shown a password or a second factor. */
const PROVEN_SECONDS = 600;
/** Maximum time that a sign-in waits for its second factor. */
const PENDING_SECONDS = 300;

/** True if the user `u` has a second factor. */
export const HAS_SECOND_FACTOR = sql`(EXISTS (SELECT FROM totp_factor f WHERE f.user_id = u.id AND f.secret IS NOT NULL)
          OR EXISTS (SELECT FROM passkey k WHERE k.user_id = u.id))`;
/**
 * True if the account of the session `s` requires a second factor that its user does not have yet. An identity provider
 * is responsible for its own users.
 */
const MUST_ENROL = sql`(s.method <> 'single-sign-on' AND EXISTS (SELECT FROM app_user u JOIN account a ON a.id = u.account_id
          WHERE u.id = s.user_id AND a.second_factor = 'required' AND NOT ${HAS_SECOND_FACTOR}))`;

export type NewSession = {
  readonly accountId: number;
  readonly userId: number;
  /** The stored hash that the password matched; null if the user signs in without a password. */
  readonly passwordHash: string | null;
  readonly method: SignInMethod;
  readonly hash: Buffer;
  readonly address: string | null;
  readonly userAgent: string;
};

const NEW_SESSION = columns({
  displayName: as<string>('(SELECT u.display_name FROM app_user u WHERE u.id = s.user_id)'),
  id: as<number>('s.id'),
  createdAt: as<Date>('s.created_at'),
  expiresAt: as<Date>(EXPIRES),
  mustEnrol: as<boolean>(MUST_ENROL),
});

/**
 * Inserts a session. Returns undefined if the password was changed in the meantime: the user's row is locked, so that a
 * password change either comes first or finds the session and ends it.
 */
export const insertSession = (db: Db, session: NewSession): Promise<RowOf<typeof NEW_SESSION> | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO user_session AS s (account_id, user_id, token_hash, address, user_agent, method)
      SELECT u.account_id, u.id, ${session.hash}::bytea, ${session.address}::inet, ${session.userAgent}::text,
             ${session.method}::text
      FROM app_user u
      WHERE u.account_id = ${session.accountId} AND u.id = ${session.userId}
        AND (${session.passwordHash}::text IS NULL OR u.password_hash = ${session.passwordHash})
      FOR SHARE
      RETURNING ${NEW_SESSION}`,
  );

/** The account that an operator is looking at. */
type ActingAccount = Pick<
  AccountGate,
  'accountId' | 'plan' | 'channels' | 'hasOptOuts' | 'defaultPurpose' | 'respectsCalendar' | 'weeklyCap'
> &
  NumberRules;

const LIVE_SESSION = columns({
  hash: as<Buffer>('s.token_hash'),
  sessionId: as<number>('s.id'),
  userId: as<number>('u.id'),
  username: as<string>('u.username'),
  displayName: as<string>('u.display_name'),
  role: as<Role>('u.role'),
  isOperator: as<boolean>('u.is_operator'),
  createdAt: as<Date>('s.created_at'),
  expiresAt: as<Date>(EXPIRES),
  method: as<SignInMethod>('s.method'),
  isProven: as<boolean>(sql`s.proven_at > now() - make_interval(secs => ${PROVEN_SECONDS})`),
  mustEnrol: as<boolean>(MUST_ENROL),
  /** Null while the session is in the user's own account. */
  acting:
    as<ActingAccount | null>(`CASE WHEN b.id IS NOT NULL THEN json_build_object('accountId', b.id, 'plan', b.plan, 'channels', b.channels,
          'hasOptOuts', b.has_opt_outs, 'defaultCountry', b.default_country, 'numberChecks', b.number_checks,
          'defaultPurpose', b.default_purpose, 'respectsCalendar', b.respects_calendar, 'weeklyCap', b.weekly_cap) END`),
});
/** Live session, as authentication needs it; the gate is that of the user's own account. */
export type LiveSession = RowOf<typeof LIVE_SESSION> & AccountGate;

/**
 * Lists the live sessions with these token hashes, of all accounts: one query serves all concurrent requests. A session
 * that is looking at another account ends when its user stops being an operator: what was meant for that account must
 * not be done to the user's own.
 */
export const listLiveSessions = (db: Db, input: { hashes: readonly Buffer[] }): Promise<LiveSession[]> =>
  many(
    db,
    onePlan(sql`SELECT ${LIVE_SESSION}, ${GATE}
      FROM user_session s
      JOIN app_user u ON u.id = s.user_id
      JOIN account a ON a.id = u.account_id
      LEFT JOIN account b ON b.id = s.acting_account_id
      WHERE s.token_hash = ANY (${input.hashes}::bytea[]) AND ${LIVE} AND (b.id IS NULL OR u.is_operator)`),
  );

/** Updates `lastSeenAt` of many sessions, of all accounts. It never goes back, whatever the order of the processes. */
export const updateLastSeen = (db: Db, input: { ids: readonly number[]; times: readonly Date[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE user_session s SET last_seen_at = seen.at
      FROM unnest(${input.ids}::bigint[], ${input.times}::timestamptz[]) AS seen (id, at)
      WHERE s.id = seen.id AND s.last_seen_at < seen.at`,
  );

const SESSION = columns({
  id: as<number>('s.id'),
  userId: as<number>('s.user_id'),
  username: as<string>('u.username'),
  role: as<Role>('u.role'),
  address: as<string | null>('host(s.address)'),
  userAgent: as<string>('s.user_agent'),
  method: as<SignInMethod>('s.method'),
  createdAt: as<Date>('s.created_at'),
  lastSeenAt: as<Date>('s.last_seen_at'),
  expiresAt: as<Date>(EXPIRES),
});
export type SessionRow = RowOf<typeof SESSION>;

const WITH_USER = sql`FROM user_session s JOIN app_user u ON u.id = s.user_id`;

/** Selects live sessions; a null `userId` means those of all users of the account. */
type SessionFilter = { readonly accountId: number; readonly userId: number | null };
const matches = ({ accountId, userId }: SessionFilter) => sql`
  WHERE s.account_id = ${accountId} AND (${userId}::bigint IS NULL OR s.user_id = ${userId}) AND ${LIVE}`;

/** Lists live sessions, newest first. */
export const listSessions = (db: Db, input: SessionFilter & { limit: number; offset: number }): Promise<SessionRow[]> =>
  many(
    db,
    sql`SELECT ${SESSION} ${WITH_USER} ${matches(input)} ORDER BY s.id DESC LIMIT ${input.limit} OFFSET ${input.offset}`,
  );

export const countSessions = (db: Db, input: SessionFilter): Promise<number> =>
  countRows(db, sql`FROM user_session s ${matches(input)}`);

/** Finds a live session of any user of the account. */
export const findSession = (db: Db, input: { accountId: number; id: number }): Promise<SessionRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${SESSION} ${WITH_USER} ${matches({ accountId: input.accountId, userId: null })} AND s.id = ${input.id}`,
  );

export const deleteSession = (db: Db, input: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM user_session WHERE account_id = ${input.accountId} AND id = ${input.id}`);

/** All sessions of a person but this one. */
export const deleteSessionsOfUser = (
  db: Db,
  input: { accountId: number; userId: number; exceptId: number | null },
): Promise<{ id: number }[]> =>
  many(
    db,
    sql`DELETE FROM user_session
      WHERE account_id = ${input.accountId} AND user_id = ${input.userId}
        AND (${input.exceptId}::bigint IS NULL OR id <> ${input.exceptId}) RETURNING id`,
  );

/** Records that the user of a session has just proven their presence. Returns 0 if the session is gone. */
export const updateProven = (db: Db, input: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`UPDATE user_session SET proven_at = now() WHERE account_id = ${input.accountId} AND id = ${input.id}`);

/** Deletes all but the `keep` newest sessions of a user. */
export const deleteSurplusSessions = (
  db: Db,
  input: { accountId: number; userId: number; keep: number },
): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM user_session WHERE account_id = ${input.accountId} AND id IN (
      SELECT id FROM user_session WHERE account_id = ${input.accountId} AND user_id = ${input.userId}
      ORDER BY id DESC OFFSET ${input.keep})`,
  );

/** Deletes up to `limit` sessions that have ended, of all accounts. */
export const deleteEndedSessions = (db: Db, { limit }: { limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM user_session WHERE id IN (SELECT s.id FROM user_session s WHERE NOT ${LIVE} LIMIT ${limit})`,
  );

/**
 * Sets the account that a session is looking at from its next request on; null is the user's own. Returns 0 if the
 * session is gone.
 */
export const updateActingAccount = (
  db: Db,
  input: { accountId: number; id: number; actingAccountId: number | null },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE user_session SET acting_account_id = ${input.actingAccountId}
      WHERE account_id = ${input.accountId} AND id = ${input.id}`,
  );

const SHOWN_ACCOUNT = columns({
  id: as<number>('a.id'),
  name: as<string>('a.name'),
  plan: as<Plan>('a.plan'),
  channels: as<number>('a.channels'),
  status: as<AccountStatus>('a.status'),
  /** The currency of its credit; EUR until it has any. */
  currency: as<string>("coalesce(b.currency, 'EUR')"),
});
export type ShownAccount = RowOf<typeof SHOWN_ACCOUNT>;

export const findShownAccount = (db: Db, { accountId }: { accountId: number }): Promise<ShownAccount | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${SHOWN_ACCOUNT}
        FROM account a LEFT JOIN credit_balance b ON b.account_id = a.id WHERE a.id = ${accountId}`,
  );

/** A sign-in whose password was right and whose second factor is awaited. */
export type NewPendingSignIn = {
  readonly accountId: number;
  readonly userId: number;
  readonly passwordHash: string;
  readonly hash: Buffer;
};

/** Inserts a pending sign-in. Returns 0 if the password was changed in the meantime. */
export const insertPendingSignIn = (
  db: Db,
  { accountId, userId, passwordHash, hash }: NewPendingSignIn,
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO pending_sign_in (token_hash, account_id, user_id)
      SELECT ${hash}::bytea, u.account_id, u.id FROM app_user u
      WHERE u.account_id = ${accountId} AND u.id = ${userId} AND u.password_hash = ${passwordHash}
      FOR SHARE`,
  );

const PENDING = columns({
  userId: as<number>('u.id'),
  username: as<string>('u.username'),
  role: as<Role>('u.role'),
  isOperator: as<boolean>('u.is_operator'),
});
/** The user of a pending sign-in, and what the account allows. */
export type PendingSignIn = RowOf<typeof PENDING> & AccountGate;

/** A wrong code ends a pending sign-in when it is the last of so many. */
const MAX_WRONG_CODES = 5;

const IS_PENDING = sql`(p.created_at > now() - make_interval(secs => ${PENDING_SECONDS}) AND p.wrong_codes < ${MAX_WRONG_CODES})`;

/** Finds a pending sign-in of any account that has not ended. */
export const findPendingSignIn = (db: Db, { hash }: { hash: Buffer }): Promise<PendingSignIn | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${PENDING}, ${GATE}
      FROM pending_sign_in p JOIN app_user u ON u.id = p.user_id JOIN account a ON a.id = u.account_id
      WHERE p.token_hash = ${hash} AND ${IS_PENDING}`,
  );

/** Counts a try before its code is checked, so that parallel tries cannot exceed the bound. Returns 0 if it has ended. */
export const updatePendingTries = (db: Db, { accountId, hash }: { accountId: number; hash: Buffer }): Promise<number> =>
  exec(
    db,
    sql`UPDATE pending_sign_in p SET wrong_codes = p.wrong_codes + 1
      WHERE p.account_id = ${accountId} AND p.token_hash = ${hash} AND ${IS_PENDING}`,
  );

/** Deletes a pending sign-in that is complete. Returns 0 if it was gone. */
export const deletePendingSignIn = (
  db: Db,
  { accountId, hash }: { accountId: number; hash: Buffer },
): Promise<number> =>
  exec(db, sql`DELETE FROM pending_sign_in WHERE account_id = ${accountId} AND token_hash = ${hash}`);

/** Deletes the pending sign-ins of a user whose password or factors have changed. */
const deletePendingSignInsOfUser = (db: Db, input: { accountId: number; userId: number }): Promise<number> =>
  exec(db, sql`DELETE FROM pending_sign_in WHERE account_id = ${input.accountId} AND user_id = ${input.userId}`);

/** Deletes up to `limit` pending sign-ins of all accounts that are over. */
const deleteEndedPendingSignIns = (db: Db, { limit }: { limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM pending_sign_in WHERE token_hash IN (
      SELECT p.token_hash FROM pending_sign_in p
      WHERE p.created_at < now() - make_interval(secs => ${PENDING_SECONDS}) LIMIT ${limit})`,
  );

/**
 * Ends one of the actor's own sessions or, with the scope `keys`, one of another user of the account: its next request
 * gets 401. Call it in a transaction. Errors: 404 for an unknown or foreign id, and for another user's session without
 * the scope; 403 when the actor may not manage that user's role.
 */
export async function endSession(tx: Db, actor: Actor, { id }: { id: number }): Promise<void> {
  const session = await findSession(tx, { accountId: actor.accountId, id });
  const isOwn = session !== undefined && actor.kind === 'user' && session.userId === actor.userId;
  if (!session || !(isOwn || actor.operations.has('keys'))) throw new AppError('not_found');
  if (!isOwn) requireAuthority(actor, session.role);
  await deleteAudited(tx, actor, session);
}

/**
 * Signs a user out, whichever account the session is looking at. Call it in a transaction of the user's own account.
 */
export const signOut = (tx: Db, { id, accountId, userId, username }: Session): Promise<void> =>
  deleteAudited(tx, { kind: 'user', accountId, keyId: null, userId, username }, { id, userId });

async function deleteAudited(tx: Db, author: Author, { id, userId }: { id: number; userId: number }): Promise<void> {
  if ((await deleteSession(tx, { accountId: author.accountId, id })) === 0) return;
  await recordAudit(tx, author, { action: 'session.end', subject: `session:${id}`, detail: { userId } });
}

/**
 * Ends all sessions of a user of the author's account except `exceptId`, including those that still await a second
 * factor, and records the reason. Returns the number of ended sessions. Call it in a transaction.
 */
export async function endSessionsOfUser(
  tx: Db,
  author: Author,
  { userId, exceptId, reason }: { userId: number; exceptId: number | null; reason: string },
): Promise<number> {
  const { accountId } = author;
  // A pending sign-in that completes meanwhile has its session committed once its row can be deleted.
  await deletePendingSignInsOfUser(tx, { accountId, userId });
  const ended = await deleteSessionsOfUser(tx, { accountId, userId, exceptId });
  for (const { id } of ended)
    await recordAudit(tx, author, { action: 'session.end', subject: `session:${id}`, detail: { userId, reason } });
  return ended.length;
}

/**
 * Ends all other sessions of the user of this session and returns their number. Call it in a transaction of the user's
 * own account.
 */
export const endOtherSessions = (tx: Db, { id, accountId, userId, username }: Session): Promise<number> =>
  endSessionsOfUser(
    tx,
    { kind: 'user', accountId, keyId: null, userId, username },
    { userId, exceptId: id, reason: 'the user ended all others' },
  );
