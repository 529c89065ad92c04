import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import * as db from './receipt-store.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE receipt_batch, receipt_unmatched RESTART IDENTITY`));

const park = (count: number, retryMs: number, connectionId = 1): Promise<void> =>
  db.insertUnmatched(
    pool,
    Array.from({ length: count }, (_, n) => ({
      connectionId,
      receipt: { ...receipt(`c${n}`), doneAt: null },
      reason: 'unknown' as const,
      receivedAt: new Date(),
      retryMs,
    })),
  );
const claim = (limit: number) => transaction(pool, (tx) => db.claimUnmatched(tx, limit));

test('batches are taken oldest first, up to the limit, and each by one worker', async () => {
  for (const name of ['a', 'b', 'c', 'd'])
    await db.insertReceiptBatches(pool, [{ connectionId: 1, receipts: [receipt(name)] }]);
  const names = (batches: db.ReceiptBatch[]) => batches.map((b) => b.receipts[0]?.carrierIds[0]);
  await transaction(pool, async (tx) => {
    expect(names(await db.deleteReceiptBatches(tx, 2))).toEqual(['a', 'b']);
    expect(names(await db.deleteReceiptBatches(pool, 2))).toEqual(['c', 'd']);
  });
  expect(await db.deleteReceiptBatches(pool, 2)).toEqual([]);
});

test('a batch is there again when the worker that took it fails', async () => {
  await db.insertReceiptBatches(pool, [{ connectionId: 1, receipts: [receipt('a')] }]);
  const failing = transaction(pool, async (tx) => {
    await db.deleteReceiptBatches(tx, 1);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await db.deleteReceiptBatches(pool, 1)).toHaveLength(1);
});

test('parked receipts are tried when their time has come, the longest waiting first', async () => {
  await park(1, 60_000);
  expect(await claim(10)).toEqual([]);
  await park(3, 0, 2);
  await exec(pool, sql`UPDATE receipt_unmatched SET next_try_at = next_try_at - interval '1 minute' WHERE id = 3`);
  expect((await claim(2)).map((row) => row.id)[0]).toBe(3);
  expect(await claim(10)).toHaveLength(3);
  await db.deleteUnmatched(pool, [2, 3]);
  expect((await claim(10)).map((row) => row.id)).toEqual([4]);
});

test('a parked receipt that one worker tries is skipped by another', async () => {
  await park(2, 0);
  await transaction(pool, async (tx) => {
    expect(await db.claimUnmatched(tx, 1)).toHaveLength(1);
    expect(await claim(10)).toHaveLength(1);
  });
});

test('each try waits twice as long as the one before, from 200 ms to an hour', async () => {
  await park(1, 0);
  const waits: number[] = [];
  for (let n = 0; n < 20; n++) {
    // In one transaction `now()` stands still.
    await transaction(pool, async (tx) => {
      await db.updateUnmatchedRetry(tx, [{ id: 1, reason: 'ambiguous' }]);
      const row = await one<{ ms: number }>(
        tx,
        sql`SELECT (extract(epoch FROM next_try_at - now()) * 1000)::float8 AS ms FROM receipt_unmatched`,
      );
      waits.push(Math.round(row.ms));
    });
  }
  expect(waits.slice(0, 5)).toEqual([200, 400, 800, 1600, 3200]);
  expect(Math.max(...waits)).toBeLessThanOrEqual(3_600_000);
  expect(waits.at(-1)).toBeGreaterThan(3_599_000);
});

test('parked receipts are counted by connection, with the time of the next try', async () => {
  expect(await db.countUnmatched(pool)).toEqual([]);
  expect(await db.findNextUnmatchedMs(pool)).toBeNull();
  await park(2, 60_000, 1);
  await park(1, 30_000, 2);
  const counts = await db.countUnmatched(pool);
  expect(counts.sort((a, b) => a.connectionId - b.connectionId)).toEqual([
    { connectionId: 1, count: 2, nextMs: expect.closeTo(60_000, -4) },
    { connectionId: 2, count: 1, nextMs: expect.closeTo(30_000, -4) },
  ]);
  const next = (await db.findNextUnmatchedMs(pool)) ?? 0;
  expect(next).toBeGreaterThan(25_000);
  expect(next).toBeLessThanOrEqual(30_000);
});

test('parked receipts are deleted after their days and not before', async () => {
  await park(2, 0);
  await exec(pool, sql`UPDATE receipt_unmatched SET received_at = now() - interval '9 days 1 minute' WHERE id = 1`);
  expect(await db.deleteOldUnmatched(pool, 10)).toBe(0);
  expect(await db.deleteOldUnmatched(pool, 9)).toBe(1);
  expect((await claim(10)).map((row) => row.id)).toEqual([2]);
});
