import { beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import * as db from './api-keys.ts';
import { generateKeyValue } from './api-keys.ts';
import { insertUser } from './users.ts';

// The statements run as the owner of the tables here, so row-level security hides no forgotten account.
const { pool } = testDatabase();

let [own, other] = [0, 0];
let [ada, bob] = [0, 0];
let users = 0;
const createUser = async (accountId: number): Promise<number> => {
  users++;
  const user = { accountId, username: `user-${users}`, passwordHash: '', role: 'admin' } as const;
  return (await insertUser(pool, user))?.id ?? 0;
};

beforeEach(async () => {
  await exec(pool, sql`DELETE FROM api_key`);
  own = (await createAccount(pool, { name: 'Acme', plan: 'production' })).accountId;
  other = (await createAccount(pool, { name: 'Other', plan: 'production' })).accountId;
  await exec(pool, sql`DELETE FROM api_key`);
  [ada, bob] = [await createUser(own), await createUser(own)];
});

type Settings = { readonly accountId?: number; readonly userId?: number | null; readonly expiresAt?: Date | null };
async function createKey({ accountId = own, userId = ada, expiresAt = null }: Settings = {}) {
  const key = { accountId, userId, name: 'key', description: '', operations: ['SMS'], expiresAt };
  const { id } = await db.insertKey(pool, key);
  const { hash, prefix } = generateKeyValue();
  await db.insertKeyValue(pool, { accountId, keyId: id, hash, prefix });
  return { id, hash };
}

const PAST = new Date(Date.now() - 60_000);
const FUTURE = new Date(Date.now() + 60_000);
const all = { page: 0, limit: 10 };
const idsOf = (rows: readonly { id: number }[]): number[] => rows.map(({ id }) => id);
const keysLeft = async (): Promise<number[]> =>
  idsOf(await many<{ id: number }>(pool, sql`SELECT id FROM api_key ORDER BY id`));
const valuesLeft = async (): Promise<(Date | null)[]> =>
  (
    await many<{ expiresAt: Date | null }>(
      pool,
      sql`SELECT expires_at AS "expiresAt" FROM api_key_value ORDER BY api_key_id`,
    )
  ).map(({ expiresAt }) => expiresAt);

describe('a list of keys', () => {
  test('has those of one account, the oldest first, page by page', async () => {
    const keys = [await createKey(), await createKey({ userId: bob }), await createKey()];
    await createKey({ accountId: other, userId: null });
    // An update moves a row behind the others of its table.
    await exec(pool, sql`UPDATE api_key SET description = 'moved' WHERE id = ${keys[0]?.id}`);
    const pages = [0, 1].map((page) => db.listKeys(pool, { accountId: own, userId: null, page, limit: 2 }));
    expect((await Promise.all(pages)).map(idsOf)).toEqual([idsOf(keys.slice(0, 2)), idsOf(keys.slice(2))]);
    expect(await db.countKeys(pool, { accountId: own, userId: null })).toBe(3);
  });

  test('has those of one user, on request', async () => {
    const mine = await createKey();
    await createKey({ userId: bob });
    await createKey({ userId: null });
    expect(idsOf(await db.listKeys(pool, { accountId: own, userId: ada, ...all }))).toEqual([mine.id]);
  });

  test('has the expired ones or the valid ones, on request', async () => {
    const [expired, later, never] = [
      await createKey({ expiresAt: PAST }),
      await createKey({ expiresAt: FUTURE }),
      await createKey(),
    ];
    const list = async (wanted: boolean | null) =>
      idsOf(await db.listKeys(pool, { accountId: own, userId: null, expired: wanted, ...all }));
    expect([await list(true), await list(false), await list(null)]).toEqual([
      [expired.id],
      [later.id, never.id],
      [expired.id, later.id, never.id],
    ]);
  });

  test('shows each key once, with its current value and its own user', async () => {
    const { id } = await createKey({ userId: null });
    await createKey({ userId: bob });
    await db.moveValueToGrace(pool, { accountId: own, keyId: id, graceSeconds: 60 });
    const { hash } = generateKeyValue();
    await db.insertKeyValue(pool, { accountId: own, keyId: id, hash, prefix: 'pg_live_new1' });
    const listed = await db.listKeys(pool, { accountId: own, userId: null, ...all });
    expect(listed).toMatchObject([{ id, prefix: 'pg_live_new1', username: null, plan: 'production' }, {}]);
  });
});

describe('a key', () => {
  test('is found by its value in its own account, as long as the value works', async () => {
    const { id, hash } = await createKey();
    const find = async (accountId: number) => (await db.findKeyByHash(pool, { accountId, hash }))?.id;
    expect([await find(own), await find(other)]).toEqual([id, undefined]);
    await db.moveValueToGrace(pool, { accountId: own, keyId: id, graceSeconds: 60 });
    const next = generateKeyValue();
    await db.insertKeyValue(pool, { accountId: own, keyId: id, ...next });
    expect(await find(own)).toBe(id);
    await exec(pool, sql`UPDATE api_key_value SET expires_at = now() WHERE key_hash = ${hash}`);
    expect(await find(own)).toBeUndefined();
  });

  test('is found by its id in its own account only, for a change and for its new value', async () => {
    const { id } = await createKey();
    expect(await db.findKeyForUpdate(pool, { accountId: other, id })).toBeUndefined();
    expect(await db.insertKeyValue(pool, { accountId: other, keyId: id, ...generateKeyValue() })).toBe(0);
  });

  test('is locked for a change until the transaction ends', async () => {
    const { id } = await createKey();
    await transaction(pool, async (tx) => {
      await db.findKeyForUpdate(tx, { accountId: own, id });
      expect(await many(pool, sql`SELECT FROM api_key WHERE id = ${id} FOR UPDATE SKIP LOCKED`)).toEqual([]);
    });
  });

  test('is deleted alone, and in its own account only', async () => {
    const [first, second] = [await createKey(), await createKey()];
    expect(await db.deleteKey(pool, { accountId: other, id: first.id })).toBe(0);
    expect(await db.deleteKey(pool, { accountId: own, id: first.id })).toBe(1);
    expect(await keysLeft()).toEqual([second.id]);
  });

  test('is deleted with all others of its user, and with no more', async () => {
    const mine = [await createKey(), await createKey()];
    const kept = [await createKey({ userId: bob }), await createKey({ userId: null })];
    expect(await db.deleteKeysOfUser(pool, { accountId: other, userId: ada })).toEqual([]);
    expect(idsOf(await db.deleteKeysOfUser(pool, { accountId: own, userId: ada })).sort()).toEqual(idsOf(mine).sort());
    expect(await keysLeft()).toEqual(idsOf(kept));
  });
});

describe('a value', () => {
  test('of one key gets its grace period, of no other key and of no other account', async () => {
    const { id } = await createKey();
    await createKey();
    const move = (accountId: number, graceSeconds: number) =>
      db.moveValueToGrace(pool, { accountId, keyId: id, graceSeconds });
    expect([await move(other, 60), await move(own, 60)]).toEqual([0, 1]);
    const [graced, current] = await valuesLeft();
    expect([graced?.getTime() ?? 0, current]).toEqual([expect.any(Number), null]);
    expect(graced?.getTime()).toBeGreaterThan(Date.now() + 30_000);
    expect(await move(own, 3600)).toBe(0);
  });

  test('whose grace period is over is deleted, of one key alone', async () => {
    const [{ id }, second] = [await createKey(), await createKey()];
    for (const keyId of [id, second.id]) await db.moveValueToGrace(pool, { accountId: own, keyId, graceSeconds: 0 });
    await db.insertKeyValue(pool, { accountId: own, keyId: id, ...generateKeyValue() });
    const end = (accountId: number) => db.deleteEndedValues(pool, { accountId, keyId: id });
    expect([await end(other), await end(own)]).toEqual([0, 1]);
    expect(await valuesLeft()).toEqual([null, expect.any(Date)]);
  });
});

describe('authentication', () => {
  test('reads the keys with these values, each with its own account and user', async () => {
    const [mine, theirs] = [await createKey(), await createKey({ accountId: other, userId: null })];
    await createKey({ userId: bob });
    const found = await db.listLiveKeys(pool, { hashes: [mine.hash, theirs.hash] });
    expect(found.toSorted((a, b) => a.keyId - b.keyId)).toMatchObject([
      { keyId: mine.id, accountId: own, userId: ada, role: 'admin' },
      { keyId: theirs.id, accountId: other, userId: null, username: null },
    ]);
  });

  test('reads no key that has expired, and no value whose grace period is over', async () => {
    const [expired, graced, valid] = [
      await createKey({ expiresAt: PAST }),
      await createKey(),
      await createKey({ expiresAt: FUTURE }),
    ];
    const hashes = [expired, graced, valid].map(({ hash }) => hash);
    const read = async () => (await db.listLiveKeys(pool, { hashes })).map(({ keyId }) => keyId).sort();
    const grace = (graceSeconds: number) =>
      db.moveValueToGrace(pool, { accountId: own, keyId: graced.id, graceSeconds });
    await grace(60);
    expect(await read()).toEqual([graced.id, valid.id].sort());
    await exec(pool, sql`UPDATE api_key_value SET expires_at = now() WHERE expires_at IS NOT NULL`);
    expect(await read()).toEqual([valid.id]);
  });

  test('dates the last use of each key, and never takes it back', async () => {
    const [first, second] = [await createKey(), await createKey()];
    const use = (...times: Date[]) =>
      db.updateLastUsed(pool, { ids: [first.id, second.id].slice(0, times.length), times });
    expect([await use(FUTURE, PAST), await use(PAST), await use(FUTURE)]).toEqual([2, 0, 0]);
    const listed = await db.listKeys(pool, { accountId: own, userId: null, ...all });
    expect(listed.map(({ lastUsedAt }) => lastUsedAt)).toEqual([FUTURE, PAST]);
  });
});
