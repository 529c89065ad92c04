import { type AccountGate, type AccountStatus, GATE } from '../accounts/sql.ts';
import { type Db, exec, many, maybeOne, one, onePlan, sql } from '../../platform/db/query.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import type { Role } from '../../platform/lib/scope.ts';

/** A session ends so long after it began, and so long after its last request. The time is the database's. */
export const SESSION_SECONDS = 7 * 24 * 3600;
const IDLE_SECONDS = 12 * 3600;

const EXPIRES = sql`s.created_at + make_interval(secs => ${SESSION_SECONDS})`;
const LIVE = sql`(${EXPIRES} > now() AND s.last_seen_at > now() - make_interval(secs => ${IDLE_SECONDS}))`;

export type NewSession = {
  readonly accountId: number;
  readonly userId: number;
  /** That the password fitted. */
  readonly passwordHash: string;
  readonly hash: Buffer;
  readonly address: string | null;
  readonly userAgent: string;
};

/**
 * Undefined when the password was changed meanwhile: the person's row is locked, so that who changes it either comes
 * first or finds the session and ends it.
 */
export const insertSession = (
  db: Db,
  session: NewSession,
): Promise<{ id: number; createdAt: Date; expiresAt: Date } | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO user_session AS s (account_id, user_id, token_hash, address, user_agent)
      SELECT u.account_id, u.id, ${session.hash}::bytea, ${session.address}::inet, ${session.userAgent}::text
      FROM app_user u
      WHERE u.account_id = ${session.accountId} AND u.id = ${session.userId}
        AND u.password_hash = ${session.passwordHash}
      FOR SHARE
      RETURNING s.id, s.created_at AS "createdAt", ${EXPIRES} AS "expiresAt"`,
  );

/** What authentication needs of a session that has not ended; the gate is that of the person's own account. */
export type LiveSession = {
  hash: Buffer;
  sessionId: number;
  userId: number;
  username: string;
  role: Role;
  isOperator: boolean;
  createdAt: Date;
  expiresAt: Date;
  /** Of the account that an operator looks at. */
  acting: { accountId: number; plan: Plan; channels: number; hasOptOuts: boolean } | null;
} & AccountGate;

/**
 * The sessions behind these hashes, of all accounts: one query for every request that waits at this moment. One that
 * looks at another account ends when its person is no operator any more: what was meant for that account must not
 * happen to their own.
 */
export const listLiveSessions = (db: Db, input: { hashes: readonly Buffer[] }): Promise<LiveSession[]> =>
  many(
    db,
    onePlan(sql`SELECT s.token_hash AS hash, s.id AS "sessionId", ${GATE}, u.id AS "userId", u.username, u.role,
        u.is_operator AS "isOperator", s.created_at AS "createdAt", ${EXPIRES} AS "expiresAt",
        CASE WHEN b.id IS NOT NULL THEN json_build_object('accountId', b.id, 'plan', b.plan, 'channels', b.channels,
          'hasOptOuts', b.has_opt_outs) END AS acting
      FROM user_session s
      JOIN app_user u ON u.id = s.user_id
      JOIN account a ON a.id = u.account_id
      LEFT JOIN account b ON b.id = s.acting_account_id
      WHERE s.token_hash = ANY (${input.hashes}::bytea[]) AND ${LIVE} AND (b.id IS NULL OR u.is_operator)`),
  );

/** Moves `lastSeenAt` of many sessions forward, of all accounts; never back, whatever order processes write in. */
export const updateLastSeen = (db: Db, input: { ids: readonly number[]; times: readonly Date[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE user_session s SET last_seen_at = seen.at
      FROM unnest(${input.ids}::bigint[], ${input.times}::timestamptz[]) AS seen (id, at)
      WHERE s.id = seen.id AND s.last_seen_at < seen.at`,
  );

/** A session as lists show it. */
export type SessionRow = {
  id: number;
  userId: number;
  username: string;
  role: Role;
  address: string | null;
  userAgent: string;
  createdAt: Date;
  lastSeenAt: Date;
  expiresAt: Date;
};

const RECORD = sql`SELECT s.id, s.user_id AS "userId", u.username, u.role, host(s.address) AS address,
    s.user_agent AS "userAgent", s.created_at AS "createdAt", s.last_seen_at AS "lastSeenAt", ${EXPIRES} AS "expiresAt"
  FROM user_session s JOIN app_user u ON u.id = s.user_id`;

/** Sessions that have not ended; `userId` null means everybody's of the account. */
type Whose = { readonly accountId: number; readonly userId: number | null };
const ofWhom = ({ accountId, userId }: Whose) => sql`
  WHERE s.account_id = ${accountId} AND (${userId}::bigint IS NULL OR s.user_id = ${userId}) AND ${LIVE}`;

/** Newest first. */
export const listSessions = (db: Db, input: Whose & { limit: number; offset: number }): Promise<SessionRow[]> =>
  many(db, sql`${RECORD} ${ofWhom(input)} ORDER BY s.id DESC LIMIT ${input.limit} OFFSET ${input.offset}`);

export async function countSessions(db: Db, input: Whose): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM user_session s ${ofWhom(input)}`)).total;
}

export const findSession = (db: Db, input: { accountId: number; id: number }): Promise<SessionRow | undefined> =>
  maybeOne(db, sql`${RECORD} ${ofWhom({ accountId: input.accountId, userId: null })} AND s.id = ${input.id}`);

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

/** Of a person's sessions those beyond the `most` newest. */
export const deleteSurplusSessions = (
  db: Db,
  input: { accountId: number; userId: number; most: number },
): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM user_session WHERE account_id = ${input.accountId} AND id IN (
      SELECT id FROM user_session WHERE account_id = ${input.accountId} AND user_id = ${input.userId}
      ORDER BY id DESC OFFSET ${input.most})`,
  );

/** Forgets up to `limit` sessions that have ended, of all accounts. */
export const deleteEndedSessions = (db: Db, { limit }: { limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM user_session WHERE id IN (SELECT s.id FROM user_session s WHERE NOT ${LIVE} LIMIT ${limit})`,
  );

/** Which account a session looks at from the next request on; null: the person's own. 0 when the session has ended. */
export const updateActingAccount = (
  db: Db,
  input: { accountId: number; id: number; actingAccountId: number | null },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE user_session SET acting_account_id = ${input.actingAccountId}
      WHERE account_id = ${input.accountId} AND id = ${input.id}`,
  );

export type ShownAccount = {
  id: number;
  name: string;
  plan: Plan;
  channels: number;
  status: AccountStatus;
  currency: string;
};

/** Finds what the console shows of an account; `currency` is that of its credit, EUR until it has any. */
export const findShownAccount = (db: Db, { accountId }: { accountId: number }): Promise<ShownAccount | undefined> =>
  maybeOne(
    db,
    sql`SELECT a.id, a.name, a.plan, a.channels, a.status, coalesce(b.currency, 'EUR') AS currency
        FROM account a LEFT JOIN credit_balance b ON b.account_id = a.id WHERE a.id = ${accountId}`,
  );
