import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { type AccountGate, GATE } from '../accounts/sql.ts';
import type { Role } from '../../platform/lib/scope.ts';

/** Undefined when another user of any account has this name. */
export const insertUser = (
  db: Db,
  user: { accountId: number; username: string; passwordHash: string; role: Role },
): Promise<{ id: number; createdAt: Date } | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO app_user (account_id, username, password_hash, role)
      VALUES (${user.accountId}, ${user.username}, ${user.passwordHash}, ${user.role})
      ON CONFLICT (username) DO NOTHING
      RETURNING id, created_at AS "createdAt"`,
  );

/** A person as lists show them. */
export type UserRow = { id: number; username: string; role: Role; isOperator: boolean; createdAt: Date };

const RECORD = sql`SELECT id, username, role, is_operator AS "isOperator", created_at AS "createdAt" FROM app_user`;

/** Oldest first. */
export const listUsers = (db: Db, input: { accountId: number; limit: number; offset: number }): Promise<UserRow[]> =>
  many(
    db,
    sql`${RECORD} WHERE account_id = ${input.accountId} ORDER BY id LIMIT ${input.limit} OFFSET ${input.offset}`,
  );

export async function countUsers(db: Db, { accountId }: { accountId: number }): Promise<number> {
  const row = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total FROM app_user WHERE account_id = ${accountId}`,
  );
  return row.total;
}

export const findUser = (db: Db, input: { accountId: number; id: number }): Promise<UserRow | undefined> =>
  maybeOne(db, sql`${RECORD} WHERE account_id = ${input.accountId} AND id = ${input.id}`);

/** Locked until the transaction ends, so that of two owners who remove each other one is left. */
export const listOwnersForUpdate = (db: Db, { accountId }: { accountId: number }): Promise<{ id: number }[]> =>
  many(db, sql`SELECT id FROM app_user WHERE account_id = ${accountId} AND role = 'owner' ORDER BY id FOR UPDATE`);

export const updateRole = (db: Db, input: { accountId: number; id: number; role: Role }): Promise<number> =>
  exec(db, sql`UPDATE app_user SET role = ${input.role} WHERE account_id = ${input.accountId} AND id = ${input.id}`);

export const deleteUser = (db: Db, input: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM app_user WHERE account_id = ${input.accountId} AND id = ${input.id}`);

/** What authentication needs of a user. */
export type Login = {
  userId: number;
  username: string;
  passwordHash: string;
  role: Role;
  isOperator: boolean;
  /** From where this person came in within 90 days, as `networkOf` writes it. */
  networks: string[];
} & AccountGate;

/** The users of these names, of all accounts: one query for every request that waits at this moment. */
export const listLogins = (db: Db, input: { usernames: readonly string[] }): Promise<Login[]> =>
  many(
    db,
    sql`SELECT u.id AS "userId", u.username, u.password_hash AS "passwordHash", u.role,
        u.is_operator AS "isOperator", ${GATE},
        ARRAY (SELECT n.network::text FROM login_network n
          WHERE n.user_id = u.id AND n.seen_at > now() - interval '90 days'
          ORDER BY n.seen_at DESC LIMIT 100) AS networks
      FROM app_user u JOIN account a ON a.id = u.account_id
      WHERE u.username = ANY (${input.usernames}::text[])`,
  );

/** The old password ends with this, on every process. With `from`, 0 when it is no longer that one. */
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

/** This person came in from there; forgets from where they have not come for long. */
export const insertLoginNetwork = (db: Db, input: { userId: number; network: string }): Promise<number> =>
  exec(
    db,
    sql`WITH old AS (
        DELETE FROM login_network WHERE user_id = ${input.userId} AND network <> ${input.network} AND seen_at < now() - interval '90 days')
      INSERT INTO login_network (user_id, network) VALUES (${input.userId}, ${input.network})
      ON CONFLICT (user_id, network) DO UPDATE SET seen_at = now()`,
  );

/** A person with their account, for the operator, who names people by username alone. */
export type OperatorRow = { id: number; username: string; accountId: number; accountName: string; isOperator: boolean };

const WITH_ACCOUNT = sql`
  SELECT u.id, u.username, u.account_id AS "accountId", a.name AS "accountName", u.is_operator AS "isOperator"
  FROM app_user u JOIN account a ON a.id = u.account_id`;

export const findUserByUsername = (db: Db, { username }: { username: string }): Promise<OperatorRow | undefined> =>
  maybeOne(db, sql`${WITH_ACCOUNT} WHERE u.username = ${username}`);

/** The operators of the gateway, oldest first. */
export const listOperators = (db: Db): Promise<OperatorRow[]> =>
  many(db, sql`${WITH_ACCOUNT} WHERE u.is_operator ORDER BY u.id`);

/** 0 when nothing changed. */
export const updateIsOperator = (
  db: Db,
  input: { accountId: number; id: number; isOperator: boolean },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE app_user SET is_operator = ${input.isOperator}
      WHERE account_id = ${input.accountId} AND id = ${input.id} AND is_operator <> ${input.isOperator}`,
  );
