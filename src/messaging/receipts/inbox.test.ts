import { beforeEach, expect, test } from 'vitest';
import { createPool } from '../../platform/db/pool.ts';
import { many, sql } from '../../platform/db/query.ts';
import { silentLog } from '../../platform/lib/log.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { reset } from '../../../test/support/reset.ts';
import { receipt } from '../../../test/support/receipts.ts';
import { createReceiptInbox } from './inbox.ts';
import { deleteReceiptBatches } from './sql.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE receipt_batch`));

/** The stored carrier ids of a connection, in order. */
async function stored(connectionId: number): Promise<string[]> {
  const rows = await many<{ carrierId: string }>(
    pool,
    sql`SELECT receipt->0->>0 AS "carrierId" FROM receipt_batch, json_array_elements(receipts) WITH ORDINALITY AS r (receipt, n)
        WHERE connection_id = ${connectionId} ORDER BY id, n`,
  );
  return rows.map((row) => row.carrierId);
}

test('a receipt is committed, and its worker woken, before its promise resolves', async () => {
  const events: string[] = [];
  const store = createReceiptInbox(pool, () => events.push('woken'));
  await store({ connectionId: 1, receipt: receipt('A1') }).then(() => events.push('answered'));
  expect(await stored(1)).toEqual(['A1']);
  expect(events).toEqual(['woken', 'answered']);
});

test('many receipts become few batches by connection, in the order in which they arrived', async () => {
  const store = createReceiptInbox(pool, () => undefined);
  const names = Array.from({ length: 3000 }, (_, n) => `c${n}`);
  await Promise.all(names.map((name, n) => store({ connectionId: 1 + (n % 2), receipt: receipt(name) })));
  expect(await stored(1)).toEqual(names.filter((_, n) => n % 2 === 0));
  expect(await stored(2)).toEqual(names.filter((_, n) => n % 2 === 1));
  const batches = await many(pool, sql`SELECT FROM receipt_batch`);
  expect(batches.length).toBeLessThanOrEqual(10);
});

test('a receipt that cannot be stored is an error: the carrier must not get an acknowledgement', async () => {
  const away = createPool('postgres://nobody@127.0.0.1:1/none', { max: 1, applicationName: 'test', log: silentLog });
  let woken = false;
  const store = createReceiptInbox(away, () => {
    woken = true;
  });
  await expect(store({ connectionId: 1, receipt: receipt('A1') })).rejects.toThrow('ECONNREFUSED');
  expect(woken).toBe(false);
  await away.end();
});

test('a receipt is the same after it was stored and read', async () => {
  const doneAt = new Date('2026-11-21T10:00:00.000Z');
  const full = receipt('A1', { carrierIds: ['A1', '"\\{}'], doneAt, errorCode: '011', raw: 'é 💥 \\u0000 NULL' });
  await createReceiptInbox(pool, () => undefined)({ connectionId: 7, receipt: full });
  const [batch] = await deleteReceiptBatches(pool, 10);
  expect(batch?.connectionId).toBe(7);
  expect(batch?.receivedAt).toBeInstanceOf(Date);
  expect(batch?.receipts).toEqual([{ ...full, raw: expect.stringMatching(/^é 💥 .* NULL$/) }]);
});
