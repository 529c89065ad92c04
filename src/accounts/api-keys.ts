import { hash, randomBytes } from 'node:crypto';
import { type Actor, type Plan, type Role, SCOPES, type Scope } from '../core/actor.ts';
import type { Purpose } from '../core/channels.ts';
import {
  as,
  columns,
  countRows,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  onePlan,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { type AccountGate, GATE } from './accounts.ts';
import { type Author, recordAudit } from './audit.ts';

/** The creator of a key: an actor, or an operator command with all scopes. */
type Grantor = Author & Pick<Actor, 'operations'>;

type NewKeyInput = {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** All scopes of the grantor by default. */
  readonly operations?: readonly Scope[] | undefined;
  readonly expiresAt?: Date | undefined;
  /** Purpose of its messages that state none; by default that of the account. */
  readonly purpose?: Purpose | null | undefined;
};

/** A key with its value, which cannot be shown again. */
export type IssuedKey = {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly apiKey: string;
  readonly operations: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
};

/** Maximum number of keys of an account. Expired keys count: they are rows, too. */
export const MAX_KEYS: Readonly<Record<Plan, number>> = { trial: 10, production: 100, unlimited: 1000 };

/**
 * Creates a key of the grantor's account. Call it in a transaction: the key and its value are two rows.
 * Errors: 403 when it would have a scope that the grantor lacks, 400 when `expiresAt` is not in the future, 409 when the
 * account has as many keys as its plan allows.
 */
export async function createKey(tx: Db, actor: Grantor, input: NewKeyInput): Promise<IssuedKey> {
  const { name = '', description = '', expiresAt = null, purpose = null } = input;
  const operations = grantableScopes(actor, input.operations ?? [...actor.operations]);
  if (expiresAt && expiresAt.getTime() <= Date.now())
    throw invalidFields([{ field: 'expiresAt', message: 'must be in the future' }]);
  const { accountId, userId } = actor;
  const max = MAX_KEYS[await lockKeysOfAccount(tx, { accountId })];
  const count = await countKeys(tx, { accountId, userId: null });
  if (count >= max)
    throw new AppError('conflict', {
      message: `The account has ${count} API keys and its plan allows ${max}: delete some first; expired keys count, too`,
    });
  const { id, createdAt } = await insertKey(tx, {
    accountId,
    userId,
    name,
    description,
    operations,
    expiresAt,
    purpose,
  });
  const apiKey = await issueValue(tx, { accountId, keyId: id });
  const detail = { name, operations, expiresAt, ...(purpose !== null && { purpose }) };
  await recordAudit(tx, actor, { action: 'api-key.create', subject: `api-key:${id}`, detail });
  return { id, name, description, apiKey, operations, createdAt, expiresAt };
}

/** Gives a key a new current value and returns it. The value is not stored and cannot be shown again. */
async function issueValue(tx: Db, key: { accountId: number; keyId: number }): Promise<string> {
  const { value, hash, prefix } = generateKeyValue();
  await insertKeyValue(tx, { ...key, hash, prefix });
  return value;
}

/** Returns the scopes in the order of `SCOPES`. Throws 403 if the grantor lacks one of them. */
function grantableScopes(actor: Grantor, operations: readonly string[]): Scope[] {
  const lacking = operations.filter(
    (wanted) => !SCOPES.some((scope) => scope === wanted && actor.operations.has(scope)),
  );
  if (lacking.length > 0)
    throw new AppError('forbidden', { message: `These credentials themselves lack the scopes ${lacking.join(', ')}` });
  return SCOPES.filter((scope) => operations.includes(scope));
}

/**
 * Gives a key a new value; the previous one keeps working for `graceSeconds`. Id, scopes and expiry stay the same, so
 * that deleting the key later revokes both values. Call it in a transaction. Errors: 404 for an unknown or foreign id;
 * 409 for an expired key; 403 when the key has a scope that the actor lacks, since the actor would gain it.
 */
export async function rotateKey(
  tx: Db,
  actor: Grantor,
  input: { id: number; graceSeconds: number },
): Promise<IssuedKey> {
  const key = await existing(findKeyForUpdate(tx, { accountId: actor.accountId, id: input.id }));
  if (key.expired) throw new AppError('conflict', { message: 'The key has expired: create a new one' });
  const operations = grantableScopes(actor, key.operations);
  const which = { accountId: actor.accountId, keyId: key.id };
  await moveValueToGrace(tx, { ...which, graceSeconds: input.graceSeconds });
  await deleteEndedValues(tx, which);
  const apiKey = await issueValue(tx, which);
  const { id, name, description, createdAt, expiresAt } = key;
  const detail = { graceSeconds: input.graceSeconds };
  await recordAudit(tx, actor, { action: 'api-key.rotate', subject: `api-key:${id}`, detail });
  return { id, name, description, apiKey, operations, createdAt, expiresAt };
}

/**
 * Revokes a key with all its values: its next request gets 401. Call it in a transaction.
 * Errors: 404 for an unknown or foreign id.
 */
export async function revokeKey(tx: Db, actor: Author, { id }: { id: number }): Promise<void> {
  if ((await deleteKey(tx, { accountId: actor.accountId, id })) === 0) throw new AppError('not_found');
  await recordAudit(tx, actor, { action: 'api-key.delete', subject: `api-key:${id}` });
}

/** Revokes all keys that a user made, because the user is deleted. Call it in a transaction. */
export async function revokeKeysOfUser(tx: Db, actor: Author, { userId }: { userId: number }): Promise<void> {
  const detail = { reason: `user:${userId} was deleted` };
  for (const { id } of await deleteKeysOfUser(tx, { accountId: actor.accountId, userId }))
    await recordAudit(tx, actor, { action: 'api-key.delete', subject: `api-key:${id}`, detail });
}

const KEY_FORM = /^pg_live_[A-Za-z0-9_-]{43}$/;

/** A key value with the hash and the prefix that are stored. `value` itself is shown once and stored nowhere. */
type NewKeyValue = { readonly value: string; readonly hash: Buffer; readonly prefix: string };

/** Generates a key value: `pg_live_` and 256 random bits in base64url. */
export function generateKeyValue(): NewKeyValue {
  const value = `pg_live_${randomBytes(32).toString('base64url')}`;
  return { value, hash: digestOf(value), prefix: value.slice(0, 12) };
}

/**
 * Returns the SHA-256 under which a value is stored; undefined, which saves a query, if it cannot be one of ours.
 * Looking up the hash by index needs no constant-time comparison.
 */
export const hashOfKey = (value: string): Buffer | undefined => (KEY_FORM.test(value) ? digestOf(value) : undefined);

// In one call, which takes two thirds of the time of `createHash`: each request shows a key.
const digestOf = (value: string): Buffer => hash('sha256', value, 'buffer');

/** The last use of an id; `writtenAt` is in ms of the monotonic clock. */
type Use = { at: Date; dirty: boolean; writtenAt: number };

/** Tracks the times at which ids were last used. */
export type UsageTracker = {
  /** Records a use. Costs a map lookup; the write happens later, off the request path. */
  used(id: number): void;
  /** Writes the uses that are due, in one statement. A failure is logged and retried at the next flush. */
  flush(): Promise<void>;
  /** Stops the periodic flush and writes all remaining uses. */
  close(): Promise<void>;
};

type Move = (db: Db, input: { ids: readonly number[]; times: readonly Date[] }) => Promise<unknown>;
type UsageOptions = {
  readonly db: Db;
  readonly log: Log;
  /** Writes the times; default: those of API keys. */
  readonly move?: Move;
  readonly flushEveryMs?: number;
  readonly minGapMs?: number;
};

/**
 * Creates a tracker of the last use of keys, or sessions. It flushes every few seconds and writes each id at most once
 * in `minGapMs`. A crash loses about a minute of it.
 */
export function trackUsage(options: UsageOptions): UsageTracker {
  const { db, log, move = updateLastUsed, flushEveryMs = 5_000, minGapMs = 60_000 } = options;
  const uses = new Map<number, Use>();
  const flush = (gapMs: number) => write({ db, log, move }, takeDue(uses, performance.now() - gapMs));
  const timer = setInterval(() => void flush(minGapMs), flushEveryMs).unref();
  return {
    used(id) {
      const use = uses.get(id);
      if (use) Object.assign(use, { at: new Date(), dirty: true });
      else uses.set(id, { at: new Date(), dirty: true, writtenAt: -Infinity });
    },
    flush: () => flush(minGapMs),
    async close() {
      clearInterval(timer);
      await flush(0);
    },
  };
}

/** Returns the new uses of ids last written before `before`, and forgets such ids without a new use. */
function takeDue(uses: Map<number, Use>, before: number): [number, Use][] {
  const aged = [...uses].filter(([, use]) => use.writtenAt <= before);
  for (const [id, use] of aged) if (!use.dirty) uses.delete(id);
  return aged.filter(([, use]) => use.dirty);
}

type Writing = { readonly db: Db; readonly log: Log; readonly move: Move };

async function write({ db, log, move }: Writing, due: readonly [number, Use][]): Promise<void> {
  if (due.length === 0) return;
  for (const [, use] of due) Object.assign(use, { dirty: false, writtenAt: performance.now() });
  try {
    await move(db, { ids: due.map(([id]) => id), times: due.map(([, use]) => use.at) });
  } catch (error) {
    for (const [, use] of due) Object.assign(use, { dirty: true, writtenAt: -Infinity });
    log.warn({ err: error }, 'the last use of keys or sessions could not be written');
  }
}

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
  purpose: as<Purpose | null>('k.purpose'),
});
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

export const countKeys = (db: Db, input: KeyFilter): Promise<number> =>
  countRows(db, sql`FROM api_key k ${matches(input)}`);

/** Returns the plan of an account, and lets other transactions that create keys of it wait until this one ends. */
async function lockKeysOfAccount(db: Db, { accountId }: { accountId: number }): Promise<Plan> {
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

export type NewKey = {
  accountId: number;
  userId: number | null;
  name: string;
  description: string;
  operations: readonly string[];
  expiresAt: Date | null;
  purpose?: Purpose | null;
};

export const insertKey = (db: Db, key: NewKey): Promise<{ id: number; createdAt: Date }> =>
  one(
    db,
    sql`INSERT INTO api_key (account_id, user_id, name, description, operations, expires_at, purpose)
      VALUES (${key.accountId}, ${key.userId}, ${key.name}, ${key.description}, ${key.operations}, ${key.expiresAt},
              ${key.purpose ?? null})
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

export const deleteKeysOfUser = (db: Db, input: { accountId: number; userId: number }): Promise<{ id: number }[]> =>
  many(db, sql`DELETE FROM api_key WHERE account_id = ${input.accountId} AND user_id = ${input.userId} RETURNING id`);

const LIVE_KEY = columns({
  hash: as<Buffer>('v.key_hash'),
  keyId: as<number>('k.id'),
  userId: as<number | null>('k.user_id'),
  username: as<string | null>('u.username'),
  role: as<Role>("coalesce(u.role, 'admin')"),
  operations: as<string[]>('k.operations'),
  /** The purpose of its messages that state none; null: that of the account. */
  purpose: as<Purpose | null>('k.purpose'),
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
