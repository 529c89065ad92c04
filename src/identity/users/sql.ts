import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import { GATE } from '../accounts/sql.ts';
import { HAS_SECOND_FACTOR } from '../sessions/sql.ts';
import type { Role } from '../../platform/lib/scope.ts';

const NEW_USER = columns({ id: as<number>('id'), createdAt: as<Date>('created_at') });

/** Inserts a user. Returns undefined if the username is taken, in this account or another. */
export const insertUser = (
  db: Db,
  user: { accountId: number; username: string; passwordHash: string; role: Role },
): Promise<RowOf<typeof NEW_USER> | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO app_user (account_id, username, password_hash, role)
      VALUES (${user.accountId}, ${user.username}, ${user.passwordHash}, ${user.role})
      ON CONFLICT (username) DO NOTHING
      RETURNING ${NEW_USER}`,
  );

const USER = columns({
  id: as<number>('id'),
  username: as<string>('username'),
  role: as<Role>('role'),
  isOperator: as<boolean>('is_operator'),
  createdAt: as<Date>('created_at'),
});
/** A user as shown in lists. */
export type UserRow = RowOf<typeof USER>;

/** Lists the users of an account, oldest first. */
export const listUsers = (db: Db, input: { accountId: number; limit: number; offset: number }): Promise<UserRow[]> =>
  many(
    db,
    sql`SELECT ${USER} FROM app_user WHERE account_id = ${input.accountId}
      ORDER BY id LIMIT ${input.limit} OFFSET ${input.offset}`,
  );

export async function countUsers(db: Db, { accountId }: { accountId: number }): Promise<number> {
  const row = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total FROM app_user WHERE account_id = ${accountId}`,
  );
  return row.total;
}

export const findUser = (db: Db, input: { accountId: number; id: number }): Promise<UserRow | undefined> =>
  maybeOne(db, sql`SELECT ${USER} FROM app_user WHERE account_id = ${input.accountId} AND id = ${input.id}`);

/**
 * Lists the admins of an account and locks them until the transaction ends, so that two admins who remove each other do
 * not leave the account without one.
 */
export const listAdminsForUpdate = (db: Db, { accountId }: { accountId: number }): Promise<{ id: number }[]> =>
  many(db, sql`SELECT id FROM app_user WHERE account_id = ${accountId} AND role = 'admin' ORDER BY id FOR UPDATE`);

/** Changes the role of a user; returns 1, or 0 if there is no such user. */
export const updateRole = (db: Db, input: { accountId: number; id: number; role: Role }): Promise<number> =>
  exec(db, sql`UPDATE app_user SET role = ${input.role} WHERE account_id = ${input.accountId} AND id = ${input.id}`);

export const deleteUser = (db: Db, input: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM app_user WHERE account_id = ${input.accountId} AND id = ${input.id}`);

/**
 * True if the password of `app_user u` signs in: where single sign-on is required few passwords do, and where it is
 * enabled not those of people whom it has denied.
 */
export const PASSWORD_SIGNS_IN = `NOT EXISTS (SELECT FROM single_sign_on o WHERE o.account_id = u.account_id
          AND NOT u.is_operator AND o.emergency_user_id IS DISTINCT FROM u.id
          AND (o.required OR o.enabled AND EXISTS (SELECT FROM single_sign_on_user p WHERE p.account_id = o.account_id
            AND p.issuer = o.issuer AND p.user_id = u.id AND p.refused_at IS NOT NULL)))`;

const LOGIN = columns({
  userId: as<number>('u.id'),
  username: as<string>('u.username'),
  passwordHash: as<string>('u.password_hash'),
  role: as<Role>('u.role'),
  isOperator: as<boolean>('u.is_operator'),
  passwordSignsIn: as<boolean>(PASSWORD_SIGNS_IN),
  hasSecondFactor: as<boolean>(HAS_SECOND_FACTOR),
  needsSecondFactor: as<boolean>("a.second_factor = 'required'"),
  /** The networks from which this user has logged in within 90 days, as written by `networkOf`. */
  networks: as<string[]>(`ARRAY (SELECT n.network::text FROM login_network n
          WHERE n.user_id = u.id AND n.seen_at > now() - interval '90 days'
          ORDER BY n.seen_at DESC LIMIT 100)`),
});
/** User, as authentication needs it. */
export type Login = RowOf<typeof LOGIN> & RowOf<typeof GATE>;

/** Lists the users with these usernames, of all accounts: one query serves all concurrent requests. */
export const listLogins = (db: Db, input: { usernames: readonly string[] }): Promise<Login[]> =>
  many(
    db,
    sql`SELECT ${LOGIN}, ${GATE}
      FROM app_user u JOIN account a ON a.id = u.account_id
      WHERE u.username = ANY (${input.usernames}::text[])`,
  );

/**
 * Changes the password of a user; the old one stops working immediately, on every process. With `from`, it changes
 * nothing and returns 0 if the stored hash is no longer that one.
 */
export const updatePassword = (
  db: Db,
  input: { accountId: number; userId: number; passwordHash: string; from?: string },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE app_user SET password_hash = ${input.passwordHash}
      WHERE account_id = ${input.accountId} AND id = ${input.userId}
        AND (${input.from ?? null}::text IS NULL OR password_hash = ${input.from ?? null})`,
  );

/** Records that a user logged in from a network, and deletes the user's networks not seen for 90 days. */
export const insertLoginNetwork = (db: Db, input: { userId: number; network: string }): Promise<number> =>
  exec(
    db,
    sql`WITH old AS (
        DELETE FROM login_network WHERE user_id = ${input.userId} AND network <> ${input.network} AND seen_at < now() - interval '90 days')
      INSERT INTO login_network (user_id, network) VALUES (${input.userId}, ${input.network})
      ON CONFLICT (user_id, network) DO UPDATE SET seen_at = now()`,
  );

const OPERATOR = columns({
  id: as<number>('u.id'),
  username: as<string>('u.username'),
  accountId: as<number>('u.account_id'),
  accountName: as<string>('a.name'),
  isOperator: as<boolean>('u.is_operator'),
});
/** A user with the account, for operator commands, which name users by username alone. */
export type OperatorRow = RowOf<typeof OPERATOR>;

const WITH_ACCOUNT = sql`FROM app_user u JOIN account a ON a.id = u.account_id`;

export const findUserByUsername = (db: Db, { username }: { username: string }): Promise<OperatorRow | undefined> =>
  maybeOne(db, sql`SELECT ${OPERATOR} ${WITH_ACCOUNT} WHERE u.username = ${username}`);

/** Lists the operators of the gateway, oldest first. */
export const listOperators = (db: Db): Promise<OperatorRow[]> =>
  many(db, sql`SELECT ${OPERATOR} ${WITH_ACCOUNT} WHERE u.is_operator ORDER BY u.id`);

/** Makes a user an operator of the gateway or revokes that; returns 0 if nothing changed. */
export const updateIsOperator = (
  db: Db,
  input: { accountId: number; id: number; isOperator: boolean },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE app_user SET is_operator = ${input.isOperator}
      WHERE account_id = ${input.accountId} AND id = ${input.id} AND is_operator <> ${input.isOperator}`,
  );
