import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { type Actor, type CheckPassword, requireAuthority, type Role } from '../core/actor.ts';
import {
  as,
  columns,
  type Db,
  exec,
  many,
  maybeOne,
  pageRows,
  type Paging,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { GATE } from './accounts.ts';
import { revokeKeysOfUser } from './api-keys.ts';
import { type Author, recordAudit } from './audit.ts';
import {
  type Attempt,
  createPasswordVerifier,
  type Hashed,
  hashPassword,
  type LoginLimits,
  refuseGuessablePassword,
} from './password.ts';
import { endSessionsOfUser, HAS_SECOND_FACTOR } from './sessions.ts';

/** A user just created, with the password, which cannot be shown again. */
type NewUser = { readonly userId: number; readonly username: string; readonly password: string };

/**
 * Creates a user of the account with this random password. The username is derived from `name` and unique across accounts:
 * if it is taken, a short random suffix is added.
 */
export async function createUserWithRandomPassword(
  db: Db,
  actor: { readonly accountId: number },
  input: { name: string; role: Role } & Hashed,
): Promise<NewUser> {
  const { name, role, password, passwordHash } = input;
  for (const username of usernames(name)) {
    const row = await insertUser(db, { accountId: actor.accountId, username, passwordHash, role });
    if (row) return { userId: row.id, username, password };
  }
  throw new Error('no free username found');
}

/**
 * Returns the usernames to try: the plain name, then with random suffixes of increasing length, of 32 bits in the last.
 */
const usernames = (name: string): string[] => {
  const base = slug(name);
  return [base, ...[2, 3, 4].map((bytes) => `${base}-${randomBytes(bytes).toString('hex')}`)];
};

/** Turns a name into at most 40 lower-case ASCII letters, digits and single hyphens; `account` if none are left. */
export function slug(name: string): string {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = ascii.match(/[a-z0-9]+/g) ?? ['account'];
  return words.join('-').slice(0, 40).replace(/-$/, '');
}

type UserInput = Hashed & { readonly username: string; readonly displayName?: string; readonly role: Role };

/**
 * Creates a user of the actor's account. Call it in a transaction. Errors: 403 when the actor may not grant that role,
 * 400 when the password is the username, 409 when the username is taken, in this account or another.
 */
export async function addUser(tx: Db, actor: Actor, input: UserInput): Promise<UserRow> {
  const { username, displayName: given = '', role, passwordHash } = input;
  requireAuthority(actor, role);
  refuseGuessablePassword('password', input);
  const named = { username, displayName: given.trim(), role };
  const user = await insertUser(tx, { accountId: actor.accountId, ...named, passwordHash });
  if (!user) throw new AppError('conflict', { message: 'This username is taken' });
  await recordAudit(tx, actor, { action: 'user.create', subject: `user:${user.id}`, detail: { username, role } });
  return { ...user, ...named, isOperator: false };
}

type UserChange = {
  readonly id: number;
  readonly displayName?: string | undefined;
  readonly role?: Role | undefined;
  readonly newPassword?: Hashed | undefined;
};

/**
 * Changes the name, the role or the password of a user. The old ones stop working with the user's next request, and a new
 * password also ends the user's sessions. Call it in a transaction. Errors: 404 for an unknown or foreign id; 403 when
 * the actor may not manage that role or the new one, when the user is an operator of the gateway and the actor is not,
 * and for the actor's own password, which needs the current one (`changeOwnPassword`); 409 for the role of the last
 * admin; 400 when the password is the username.
 */
export async function changeUser(tx: Db, actor: Actor, change: UserChange): Promise<UserRow> {
  const { id, displayName: name, role, newPassword } = change;
  const user = await findChangeableUser(tx, actor, { id, leavesAdmins: role !== undefined && role !== 'admin' });
  if (name !== undefined) await changeName(tx, actor, { id, name });
  if (role !== undefined) await changeRole(tx, actor, user, role);
  if (newPassword !== undefined) await resetPassword(tx, actor, user, newPassword);
  return { ...user, displayName: name ?? user.displayName, role: role ?? user.role };
}

/** Changes what colleagues call the actor. Errors: 403 for actors who are not users in their own account. */
export async function changeOwnName(pool: Pool, actor: Actor, name: string): Promise<void> {
  const { kind, userId: id } = actor;
  if (kind !== 'user' || id === null) throw new AppError('forbidden');
  await tenantTransaction(pool, actor, (tx) => changeName(tx, actor, { id, name }));
}

async function changeName(tx: Db, actor: Actor, { id, name }: { id: number; name: string }): Promise<void> {
  const { accountId } = actor;
  const changed = await exec(
    tx,
    sql`UPDATE app_user SET display_name = ${name}
        WHERE account_id = ${accountId} AND id = ${id} AND display_name <> ${name}`,
  );
  if (changed > 0) await recordAudit(tx, actor, { action: 'user.name', subject: `user:${id}`, detail: { name } });
}

/** Ends what a feature keeps of a user who is being removed, in the transaction of that. */
export type OnRemove = (tx: Db, user: { readonly accountId: number; readonly userId: number }) => Promise<void>;

/**
 * Removes a user and revokes the keys that the user made, so that no one who leaves keeps access. A key that must live
 * on has to be created again by another user. `onRemove` ends what other features keep of the user. Call it in a
 * transaction. Errors: 404 for an unknown or foreign id, 403 when the actor may not manage that role, 409 for the last
 * admin.
 */
export async function removeUser(
  tx: Db,
  actor: Actor,
  { id, onRemove }: { readonly id: number; readonly onRemove: OnRemove },
): Promise<void> {
  const { username, role } = await findChangeableUser(tx, actor, { id, leavesAdmins: true });
  await revokeKeysOfUser(tx, actor, { userId: id });
  await deleteUser(tx, { accountId: actor.accountId, id });
  await onRemove(tx, { accountId: actor.accountId, userId: id });
  await recordAudit(tx, actor, { action: 'user.delete', subject: `user:${id}`, detail: { username, role } });
}

/**
 * Makes a user of the author's account an operator of the gateway, or revokes that; it takes effect with the user's
 * next request. Does nothing if it is so already. Call it in a transaction with the rights of the program: those of an
 * account are not enough.
 */
export async function changeOperator(
  tx: Db,
  author: Author,
  change: { id: number; isOperator: boolean },
): Promise<void> {
  const { id, isOperator } = change;
  if ((await updateIsOperator(tx, { accountId: author.accountId, id, isOperator })) === 0) return;
  await recordAudit(tx, author, { action: 'user.operator', subject: `user:${id}`, detail: { isOperator } });
}

/**
 * Finds a user whom the actor may change. With `leavesAdmins` it locks the admins of the account, so that concurrent
 * changes wait for each other and the last admin stays one.
 */
async function findChangeableUser(
  tx: Db,
  actor: Actor,
  { id, leavesAdmins }: { id: number; leavesAdmins: boolean },
): Promise<UserRow> {
  const { accountId } = actor;
  const admins = leavesAdmins ? await listAdminsForUpdate(tx, { accountId }) : [];
  const user = await existing(findUser(tx, { accountId, id }));
  requireAuthority(actor, user.role);
  // The password of an operator opens every account.
  if (user.isOperator && actor.isOperator !== true)
    throw new AppError('forbidden', {
      message: 'This user is an operator of the gateway: only operators may do this',
    });
  if (admins.length === 1 && admins[0]?.id === id)
    throw new AppError('conflict', { message: 'The account needs an admin: make another user an admin first' });
  return user;
}

async function changeRole(tx: Db, actor: Actor, { id, username, role: from }: UserRow, to: Role): Promise<void> {
  if (from === to) return;
  requireAuthority(actor, to);
  await updateRole(tx, { accountId: actor.accountId, id, role: to });
  await recordAudit(tx, actor, { action: 'user.role', subject: `user:${id}`, detail: { username, from, to } });
}

async function resetPassword(tx: Db, actor: Actor, { id, username }: UserRow, to: Hashed): Promise<void> {
  const { password, passwordHash } = to;
  if (id === actor.userId)
    throw new AppError('forbidden', {
      message: 'Change your own password with PUT /users/me/password, which requires the current one',
    });
  refuseGuessablePassword('password', { username, password });
  await updatePassword(tx, { accountId: actor.accountId, userId: id, passwordHash });
  await endSessionsOfUser(tx, actor, { userId: id, exceptId: null, reason: 'the password was set' });
  await recordAudit(tx, actor, { action: 'user.password', subject: `user:${id}` });
}

type Deps = { readonly pool: Pool; readonly checkPassword: CheckPassword };
type Input = { readonly currentPassword: string; readonly newPassword: string; readonly ip: string };

/**
 * Changes the password of the calling user. The old password stops working with the next request, and all sessions but
 * the calling one end. The current password is checked as in a login and within the same limits, so that a stolen
 * session cannot be used to guess it. Errors: 403 for a key and for an operator in another account, 400 when the
 * current password is wrong or the new one is the username, 429 after too many wrong passwords.
 */
export async function changeOwnPassword({ pool, checkPassword }: Deps, actor: Actor, input: Input): Promise<void> {
  const { kind, accountId, userId, username } = actor;
  if (kind !== 'user' || userId === null || username === null)
    throw new AppError('forbidden', { message: 'Passwords are only for users in their own account' });
  const { currentPassword, newPassword, ip } = input;
  const { passwordHash: from } = await checkPassword({ username, password: currentPassword }, ip).catch(asField);
  refuseGuessablePassword('newPassword', { username, password: newPassword });
  const passwordHash = await hashPassword(newPassword, { by: actor.accountId });
  await tenantTransaction(pool, actor, async (tx) => {
    if ((await updatePassword(tx, { accountId, userId, passwordHash, from })) === 0) throw wrong();
    const exceptId = actor.session?.id ?? null;
    await endSessionsOfUser(tx, actor, { userId, exceptId, reason: 'the password was changed' });
    await recordAudit(tx, actor, { action: 'user.password', subject: `user:${userId}` });
  });
}

const wrong = () => invalidFields([{ field: 'currentPassword', message: 'is not the current password' }]);

/** The caller is authenticated already, so a wrong password is an error of its field. */
function asField(error: unknown): never {
  throw error instanceof AppError && error.code === 'unauthenticated' ? wrong() : error;
}

/**
 * Creates a password check within the limits of failed attempts. It resolves when the password is right. Errors: 401
 * when it is wrong or the user does not exist, which takes equally long; 429, also for right passwords, when the
 * attempts are used up; 503 when too many callers wait for a hash.
 */
export function createPasswordCheck(limits: LoginLimits) {
  const verify = createPasswordVerifier();
  return async (attempt: Attempt, password: string, storedHash: string | undefined): Promise<void> => {
    const { username, network, known } = attempt;
    let counted = false;
    const onGuess = (): void => limits.assertAllowed(attempt);
    const onHash = (): void => {
      limits.countAttempt(attempt);
      counted = true;
    };
    const caller = known ? 'known' : 'unknown';
    let right: boolean | undefined;
    try {
      right = await verify({ username, password, storedHash, caller, from: network, onGuess, onHash });
    } finally {
      // Release the slot even when no hash was computed.
      if (counted && right !== false) limits.refund(attempt);
    }
    if (!right) throw limits.failedAttempt(attempt);
  };
}

const RECORD_EVERY_MS = 3_600_000;
const MAX_REMEMBERED = 10_000;

/**
 * Creates a function that records the network of a user's login: the first time and then at most once an hour, so that
 * a client that sends its password with every request costs nothing. Resolves when written. A failure is logged; the
 * user then only loses priority over unknown networks.
 */
export function createNetworkRecorder({ db, log }: { db: Db; log: Log }) {
  const noted = new LRUCache<string, Promise<unknown>>({ max: MAX_REMEMBERED, ttl: RECORD_EVERY_MS });
  return async (userId: number, network: string): Promise<void> => {
    const name = `${userId} ${network}`;
    let writing = noted.get(name);
    if (!writing) noted.set(name, (writing = insertLoginNetwork(db, { userId, network })));
    await writing.catch((err: unknown) => {
      noted.delete(name);
      log.warn({ err }, 'the network of a login could not be recorded');
    });
  };
}

const NEW_USER = columns({ id: as<number>('id'), createdAt: as<Date>('created_at') });

/** Inserts a user. Returns undefined if the username is taken, in this account or another. */
export const insertUser = (
  db: Db,
  user: { accountId: number; username: string; displayName?: string; passwordHash: string; role: Role },
): Promise<RowOf<typeof NEW_USER> | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO app_user (account_id, username, display_name, password_hash, role)
      VALUES (${user.accountId}, ${user.username}, ${user.displayName ?? ''}, ${user.passwordHash}, ${user.role})
      ON CONFLICT (username) DO NOTHING
      RETURNING ${NEW_USER}`,
  );

const USER = columns({
  id: as<number>('id'),
  username: as<string>('username'),
  displayName: as<string>('display_name'),
  role: as<Role>('role'),
  isOperator: as<boolean>('is_operator'),
  createdAt: as<Date>('created_at'),
});
export type UserRow = RowOf<typeof USER>;

/** Reads a page of the users of an account, oldest first. */
export const listUsers = (db: Db, { accountId }: { accountId: number }, page: Paging) =>
  pageRows(db, { columns: USER, from: sql`FROM app_user WHERE account_id = ${accountId}`, order: sql`id` }, page);

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

const deleteUser = (db: Db, input: { accountId: number; id: number }): Promise<number> =>
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
const insertLoginNetwork = (db: Db, input: { userId: number; network: string }): Promise<number> =>
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
const updateIsOperator = (db: Db, input: { accountId: number; id: number; isOperator: boolean }): Promise<number> =>
  exec(
    db,
    sql`UPDATE app_user SET is_operator = ${input.isOperator}
      WHERE account_id = ${input.accountId} AND id = ${input.id} AND is_operator <> ${input.isOperator}`,
  );
