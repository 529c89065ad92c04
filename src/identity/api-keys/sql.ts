import { type AccountGate, GATE } from '../accounts/sql.ts';
import { type Db, exec, many, maybeOne, one, onePlan, sql } from '../../platform/db/query.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import type { Role } from '../../platform/lib/scope.ts';

/** A key as lists show it; `prefix` is of the current value. */
export type KeyRow = {
  id: number;
  name: string;
  description: string;
  prefix: string;
  username: string | null;
  operations: string[];
  plan: Plan;
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  expired: boolean;
};

const RECORD = sql`
  SELECT k.id, k.name, k.description, v.prefix, u.username, k.operations, a.plan, k.created_at AS "createdAt",
    k.last_used_at AS "lastUsedAt", k.expires_at AS "expiresAt", coalesce(k.expires_at <= now(), false) AS expired
  FROM api_key k
  JOIN api_key_value v ON v.api_key_id = k.id AND v.expires_at IS NULL
  JOIN account a ON a.id = k.account_id
  LEFT JOIN app_user u ON u.id = k.user_id`;

/** `userId` null means every user's, `expired` null those that expired and those that did not. */
export type KeyFilter = { accountId: number; userId: number | null; expired?: boolean | null };

const matches = ({ accountId, userId, expired = null }: KeyFilter) => sql`
  WHERE k.account_id = ${accountId} AND (${userId}::bigint IS NULL OR k.user_id = ${userId})
    AND (${expired}::boolean IS NULL OR coalesce(k.expires_at <= now(), false) = ${expired})`;

/** Oldest first. */
export const listKeys = (db: Db, input: KeyFilter & { page: number; limit: number }): Promise<KeyRow[]> =>
  many(db, sql`${RECORD} ${matches(input)} ORDER BY k.id LIMIT ${input.limit} OFFSET ${input.page * input.limit}`);

export async function countKeys(db: Db, input: KeyFilter): Promise<number> {
  const row = await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM api_key k ${matches(input)}`);
  return row.total;
}

/** The record behind a value, an earlier one in its grace included. */
export const findKeyByHash = (db: Db, input: { accountId: number; hash: Buffer }): Promise<KeyRow | undefined> =>
  maybeOne(
    db,
    sql`${RECORD}
      WHERE k.account_id = ${input.accountId} AND k.id =
        (SELECT api_key_id FROM api_key_value
         WHERE key_hash = ${input.hash} AND (expires_at IS NULL OR expires_at > now()))`,
  );

/** Locked until the transaction ends, so that two rotations of one key go one after the other. */
export const findKeyForUpdate = (db: Db, input: { accountId: number; id: number }): Promise<KeyRow | undefined> =>
  maybeOne(db, sql`${RECORD} WHERE k.account_id = ${input.accountId} AND k.id = ${input.id} FOR UPDATE OF k`);

/** The account of a key, for the operator, who names keys by id alone. */
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

/** Makes this the current value; the one before must have been retired. */
export const insertKeyValue = (
  db: Db,
  input: { accountId: number; keyId: number; hash: Buffer; prefix: string },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO api_key_value (key_hash, api_key_id, prefix)
      SELECT ${input.hash}, id, ${input.prefix} FROM api_key
      WHERE account_id = ${input.accountId} AND id = ${input.keyId}`,
  );

/** The current value becomes an earlier one that works for `graceSeconds` more. */
export const moveValueToGrace = (
  db: Db,
  input: { accountId: number; keyId: number; graceSeconds: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE api_key_value v SET expires_at = now() + make_interval(secs => ${input.graceSeconds})
      FROM api_key k
      WHERE k.account_id = ${input.accountId} AND k.id = ${input.keyId}
        AND v.api_key_id = k.id AND v.expires_at IS NULL`,
  );

/** Forgets earlier values of a key whose grace is over. */
export const deleteEndedValues = (db: Db, input: { accountId: number; keyId: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM api_key_value v USING api_key k
      WHERE k.account_id = ${input.accountId} AND k.id = ${input.keyId}
        AND v.api_key_id = k.id AND v.expires_at <= now()`,
  );

/** With all its values: the next look-up finds none of them. */
export const deleteKey = (db: Db, input: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM api_key WHERE account_id = ${input.accountId} AND id = ${input.id}`);

export const deleteKeysOfUser = (db: Db, input: { accountId: number; userId: number }): Promise<{ id: number }[]> =>
  many(db, sql`DELETE FROM api_key WHERE account_id = ${input.accountId} AND user_id = ${input.userId} RETURNING id`);

/** What authentication needs of a key whose value works now. */
export type LiveKey = {
  hash: Buffer;
  keyId: number;
  userId: number | null;
  username: string | null;
  role: Role;
  operations: string[];
} & AccountGate;

/**
 * The live keys behind these hashes, of all accounts: one query for every request that waits at this moment. The time
 * is the database's, so that an expired key has expired on every process.
 */
export const listLiveKeys = (db: Db, input: { hashes: readonly Buffer[] }): Promise<LiveKey[]> =>
  many(
    db,
    onePlan(sql`SELECT v.key_hash AS hash, k.id AS "keyId", ${GATE},
        k.user_id AS "userId", u.username, coalesce(u.role, 'owner') AS role, k.operations
      FROM api_key_value v
      JOIN api_key k ON k.id = v.api_key_id
      JOIN account a ON a.id = k.account_id
      LEFT JOIN app_user u ON u.id = k.user_id
      WHERE v.key_hash = ANY (${input.hashes}::bytea[])
        AND (v.expires_at IS NULL OR v.expires_at > now()) AND (k.expires_at IS NULL OR k.expires_at > now())`),
  );

/** Moves `lastUsedAt` of many keys forward, of all accounts; never back, whatever order processes write in. */
export const updateLastUsed = (db: Db, input: { ids: readonly number[]; times: readonly Date[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE api_key k SET last_used_at = used.at
      FROM unnest(${input.ids}::bigint[], ${input.times}::timestamptz[]) AS used (id, at)
      WHERE k.id = used.id AND (k.last_used_at IS NULL OR k.last_used_at < used.at)`,
  );
