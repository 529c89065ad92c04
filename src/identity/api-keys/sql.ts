import { type AccountGate, GATE } from '../accounts/sql.ts';
import { type Db, exec, many, maybeOne, one, onePlan, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import type { Role } from '../../platform/lib/scope.ts';

const KEY = columns({
  id: as<number>('k.id'),
  name: as<string>('k.name'),
  description: as<string>('k.description'),
  /** The first characters of the current value. */
  prefix: as<string>('v.prefix'),
  username: as<string | null>('u.username'),
  operations: as<string[]>('k.operations'),
  plan: as<Plan>('a.plan'),
  createdAt: as<Date>('k.created_at'),
  lastUsedAt: as<Date | null>('k.last_used_at'),
  expiresAt: as<Date | null>('k.expires_at'),
  expired: as<boolean>('coalesce(k.expires_at <= now(), false)'),
});
/** A key as shown in lists. */
export type KeyRow = RowOf<typeof KEY>;

const FROM_KEYS = sql`FROM api_key k
  JOIN api_key_value v ON v.account_id = k.account_id AND v.api_key_id = k.id AND v.expires_at IS NULL
  JOIN account a ON a.id = k.account_id
  LEFT JOIN app_user u ON u.id = k.user_id`;

/** Selects keys: a null `userId` means those of all users, a null `expired` both expired and valid ones. */
export type KeyFilter = { accountId: number; userId: number | null; expired?: boolean | null };

const matches = ({ accountId, userId, expired = null }: KeyFilter) => sql`
  WHERE k.account_id = ${accountId} AND (${userId}::bigint IS NULL OR k.user_id = ${userId})
    AND (${expired}::boolean IS NULL OR coalesce(k.expires_at <= now(), false) = ${expired})`;

/** Lists keys, oldest first. */
export const listKeys = (db: Db, input: KeyFilter & { page: number; limit: number }): Promise<KeyRow[]> =>
  many(
    db,
    sql`SELECT ${KEY} ${FROM_KEYS} ${matches(input)}
      ORDER BY k.id LIMIT ${input.limit} OFFSET ${input.page * input.limit}`,
  );

export async function countKeys(db: Db, input: KeyFilter): Promise<number> {
  const row = await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM api_key k ${matches(input)}`);
  return row.total;
}

/** Returns the plan of an account, and lets other transactions that create keys of it wait until this one ends. */
export async function lockKeysOfAccount(db: Db, { accountId }: { accountId: number }): Promise<Plan> {
  const row = await one<{ plan: Plan }>(db, sql`SELECT plan FROM account WHERE id = ${accountId} FOR NO KEY UPDATE`);
  return row.plan;
}

/** Finds a key by the hash of its value, including an earlier value in its grace period. */
export const findKeyByHash = (db: Db, input: { accountId: number; hash: Buffer }): Promise<KeyRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${KEY} ${FROM_KEYS}
      WHERE k.account_id = ${input.accountId} AND k.id =
        (SELECT api_key_id FROM api_key_value
         WHERE account_id = ${input.accountId} AND key_hash = ${input.hash}
           AND (expires_at IS NULL OR expires_at > now()))`,
  );

/** Finds a key and locks it until the transaction ends, so that concurrent rotations of it run one after the other. */
export const findKeyForUpdate = (db: Db, input: { accountId: number; id: number }): Promise<KeyRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${KEY} ${FROM_KEYS} WHERE k.account_id = ${input.accountId} AND k.id = ${input.id} FOR UPDATE OF k`,
  );

/** Finds the account of a key, for operator commands, which name keys by id alone. */
export const findAccountOfKey = (db: Db, input: { id: number }): Promise<{ accountId: number } | undefined> =>
  maybeOne(db, sql`SELECT account_id AS "accountId" FROM api_key WHERE id = ${input.id}`);

export type NewKey = {
  accountId: number;
  userId: number | null;
  name: string;
  description: string;
  operations: readonly string[];
  expiresAt: Date | null;
};

export const insertKey = (db: Db, key: NewKey): Promise<{ id: number; createdAt: Date }> =>
  one(
    db,
    sql`INSERT INTO api_key (account_id, user_id, name, description, operations, expires_at)
      VALUES (${key.accountId}, ${key.userId}, ${key.name}, ${key.description}, ${key.operations}, ${key.expiresAt})
      RETURNING id, created_at AS "createdAt"`,
  );

/** Inserts the current value of a key; the previous one must have been moved to its grace period before. */
export const insertKeyValue = (
  db: Db,
  input: { accountId: number; keyId: number; hash: Buffer; prefix: string },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO api_key_value (key_hash, account_id, api_key_id, prefix)
      SELECT ${input.hash}, account_id, id, ${input.prefix} FROM api_key
      WHERE account_id = ${input.accountId} AND id = ${input.keyId}`,
  );

/** Moves the current value of a key to its grace period: it works for `graceSeconds` more. */
export const moveValueToGrace = (
  db: Db,
  input: { accountId: number; keyId: number; graceSeconds: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE api_key_value SET expires_at = now() + make_interval(secs => ${input.graceSeconds})
      WHERE account_id = ${input.accountId} AND api_key_id = ${input.keyId} AND expires_at IS NULL`,
  );

/** Deletes earlier values of a key whose grace period is over. */
export const deleteEndedValues = (db: Db, input: { accountId: number; keyId: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM api_key_value
      WHERE account_id = ${input.accountId} AND api_key_id = ${input.keyId} AND expires_at <= now()`,
  );

/** Deletes a key with all its values: the next lookup finds none of them. */
export const deleteKey = (db: Db, input: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM api_key WHERE account_id = ${input.accountId} AND id = ${input.id}`);

/** Deletes all keys that a user made, and returns their ids. */
export const deleteKeysOfUser = (db: Db, input: { accountId: number; userId: number }): Promise<{ id: number }[]> =>
  many(db, sql`DELETE FROM api_key WHERE account_id = ${input.accountId} AND user_id = ${input.userId} RETURNING id`);

const LIVE_KEY = columns({
  hash: as<Buffer>('v.key_hash'),
  keyId: as<number>('k.id'),
  userId: as<number | null>('k.user_id'),
  username: as<string | null>('u.username'),
  role: as<Role>("coalesce(u.role, 'admin')"),
  operations: as<string[]>('k.operations'),
});
/** Key that is valid now, as authentication needs it. */
export type LiveKey = RowOf<typeof LIVE_KEY> & AccountGate;

/**
 * Lists the valid keys with these hashes, of all accounts: one query serves all concurrent requests. It uses the
 * database's clock, so that a key expires at the same time on every process.
 */
export const listLiveKeys = (db: Db, input: { hashes: readonly Buffer[] }): Promise<LiveKey[]> =>
  many(
    db,
    onePlan(sql`SELECT ${LIVE_KEY}, ${GATE}
      FROM api_key_value v
      JOIN api_key k ON k.id = v.api_key_id
      JOIN account a ON a.id = k.account_id
      LEFT JOIN app_user u ON u.id = k.user_id
      WHERE v.key_hash = ANY (${input.hashes}::bytea[])
        AND (v.expires_at IS NULL OR v.expires_at > now()) AND (k.expires_at IS NULL OR k.expires_at > now())`),
  );

/** Updates `lastUsedAt` of many keys, of all accounts. It never goes back, whatever the order of the processes. */
export const updateLastUsed = (db: Db, input: { ids: readonly number[]; times: readonly Date[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE api_key k SET last_used_at = used.at
      FROM unnest(${input.ids}::bigint[], ${input.times}::timestamptz[]) AS used (id, at)
      WHERE k.id = used.id AND (k.last_used_at IS NULL OR k.last_used_at < used.at)`,
  );
