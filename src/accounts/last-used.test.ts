import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { until } from '../../test/support/until.ts';
import { type Db, many, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createAccount } from '../operate/account-commands.ts';
import { trackUsage, updateLastUsed } from './api-keys.ts';

const { pool } = testDatabase();

let keyId: number;
/** Every statement of the tracker under test. */
let writes = 0;

beforeAll(async () => {
  await createAccount(pool, { name: 'Usage', plan: 'production' });
  keyId = (await many<{ id: number }>(pool, sql`SELECT id FROM api_key`))[0]?.id ?? 0;
});

const lastUsed = async (): Promise<Date | null | undefined> =>
  (await many<{ at: Date | null }>(pool, sql`SELECT last_used_at AS at FROM api_key WHERE id = ${keyId}`))[0]?.at;

const counting = (fail: () => boolean = () => false): Db => ({
  query: (query) => {
    writes++;
    return fail() ? Promise.reject(new Error('away')) : pool.query(query);
  },
});

test('a key is written when first used, then at most once in the gap, and the last use is never lost', async () => {
  writes = 0;
  const usage = trackUsage({ db: counting(), log: silentLog, flushEveryMs: 3_600_000, minGapMs: 3_600_000 });
  usage.used(keyId);
  await usage.flush();
  const first = await lastUsed();
  expect(first).toBeInstanceOf(Date);
  while (Date.now() <= (first?.getTime() ?? 0)) await new Promise((resolve) => setImmediate(resolve));
  usage.used(keyId);
  usage.used(keyId);
  await usage.flush();
  expect(writes).toBe(1);
  await usage.close();
  expect(writes).toBe(2);
  expect(await lastUsed()).not.toEqual(first);
});

test('a flush without a use writes nothing, and neither does closing', async () => {
  writes = 0;
  const usage = trackUsage({ db: counting(), log: silentLog, minGapMs: 0 });
  usage.used(keyId);
  await usage.flush();
  await usage.flush();
  await usage.close();
  expect(writes).toBe(1);
});

test('a failed write is logged, does no harm and is retried', async () => {
  const logged: string[] = [];
  let away = true;
  const log = { ...silentLog, warn: (_fields: object, message: string) => void logged.push(message) };
  const usage = trackUsage({ db: counting(() => away), log });
  const before = await lastUsed();
  await until('another millisecond', () => Date.now() > (before?.getTime() ?? 0));
  usage.used(keyId);
  await usage.flush();
  expect(logged).toHaveLength(1);
  away = false;
  await usage.flush();
  expect(await lastUsed()).not.toEqual(before);
  await usage.close();
});

test('uses are flushed in the background', async () => {
  writes = 0;
  const usage = trackUsage({ db: counting(), log: silentLog, flushEveryMs: 5, minGapMs: 0 });
  usage.used(keyId);
  await expect.poll(() => writes).toBe(1);
  await usage.close();
});

test('a later time is never replaced by an earlier one', async () => {
  const now = new Date();
  await updateLastUsed(pool, { ids: [keyId], times: [now] });
  await updateLastUsed(pool, { ids: [keyId], times: [new Date(now.getTime() - 60_000)] });
  expect(await lastUsed()).toEqual(now);
});
