import { describe, expect, test } from 'vitest';
import { many, sql } from '../../platform/db/query.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { receipt } from '../../../test/support/receipts.ts';
import { createReceiptInbox } from './inbox.ts';
import { processReceipts } from './process.ts';
import { createRecentBatches } from './recent.ts';
import { insertReceiptBatches } from './sql.ts';

test('batches stay until they are forgotten or newer ones need the room', () => {
  const recent = createRecentBatches(3);
  const ids = (): number[] => [...recent.batches().keys()];
  const [one, two] = [[receipt('a')], [receipt('b'), receipt('c')]];
  recent.put(1, one);
  recent.put(2, two);
  expect(recent.batches()).toEqual(
    new Map([
      [1, one],
      [2, two],
    ]),
  );
  recent.put(3, one);
  expect(ids()).toEqual([2, 3]);
  recent.forget([2, 7]);
  recent.put(4, one);
  recent.put(5, one);
  expect(ids()).toEqual([3, 4, 5]);
});

test('a copy of the batches does not change when others are put or forgotten', () => {
  const recent = createRecentBatches(1);
  recent.put(1, [receipt('a')]);
  const before = recent.batches();
  recent.put(2, [receipt('b')]);
  recent.forget([1, 2]);
  expect([...before.keys()]).toEqual([1]);
});

test('a batch that is larger than the cache is not kept', () => {
  const recent = createRecentBatches(1);
  recent.put(1, [receipt('a'), receipt('b')]);
  expect(recent.batches().size).toBe(0);
});

test.each(['raw', 'sender', 'destination', 'errorCode'] as const)('a NUL in %s is left to the database', (field) => {
  const recent = createRecentBatches();
  recent.put(1, [receipt('a', { [field]: 'x\0' })]);
  recent.put(2, [receipt('a\0')]);
  expect(recent.batches().size).toBe(0);
});

describe('between the inbox and its processing', () => {
  const { pool } = testDatabase();

  /** What was worked off and fits no message. */
  const parked = async (): Promise<string[]> => {
    const rows = await many<{ id: string }>(
      pool,
      sql`SELECT receipt->'carrierIds'->>0 AS id FROM receipt_unmatched ORDER BY 1`,
    );
    return rows.map((row) => row.id);
  };

  test('a batch is taken once, from memory or the database, and stays in both when its processing fails', async () => {
    const recent = createRecentBatches();
    await createReceiptInbox(pool, () => undefined, recent)({ connectionId: 1, receipt: receipt('here') });
    await insertReceiptBatches(pool, [{ connectionId: 1, receipts: [receipt('elsewhere')] }]);
    const noClock = (): Date => {
      throw new Error('no clock');
    };
    await expect(processReceipts(pool, noClock, { recent })).rejects.toThrow('no clock');
    expect([recent.batches().size, await parked()]).toEqual([1, []]);
    expect(await processReceipts(pool, () => new Date(), { recent })).toBe(2);
    expect([recent.batches().size, await parked()]).toEqual([0, ['elsewhere', 'here']]);
    expect(await processReceipts(pool, () => new Date(), { recent })).toBe(0);
  });
});
