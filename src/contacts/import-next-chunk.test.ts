import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor } from '../../test/support/drafts.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { transaction } from '../core/db/transaction.ts';
import { silentLog } from '../core/log.ts';
import { parsePhone } from '../core/phone.ts';
import { createAccount } from '../operate/account-commands.ts';
import { contactImport } from './import.ts';
import { EMPTY_REPORT } from './import-cleaning.ts';
import { type CheckedRow, packRows } from './import-rows.ts';
import * as db from './import-store.ts';
import { findBook } from './limits.ts';
import { removeLists } from './list-members.ts';
import { createList } from './lists.ts';

const database = testDatabase();

let accountId: number;
beforeEach(async () => {
  ({ accountId } = await createAccount(database.pool, { name: 'Acme', plan: 'unlimited' }));
});

const AUTHOR = { kind: 'key', keyId: 1, userId: null, username: null } as const;
const COLUMNS = [
  { name: 'phone', field: 'phoneNumber', fieldId: null },
  { name: 'first name', field: 'firstName', fieldId: null },
];

function rowOf(n: number, firstName = 'Anna'): CheckedRow {
  const number = `+39333${1_000_000 + n}`;
  const phone = parsePhone(number);
  return phone ? { line: n + 1, cells: [number, firstName], phone } : { line: n + 1, cells: [], faults: [] };
}
const rowsOf = (from: number, count: number): CheckedRow[] => Array.from({ length: count }, (_, i) => rowOf(from + i));

/** Queues an import with these chunks. */
const enqueue = (chunks: CheckedRow[][], listId: number | null = null): Promise<db.ImportRow> =>
  transaction(database.pool, async (tx) => {
    const total = chunks.flat().length;
    const facts = { fileName: 'a.csv', dryRun: false, listId, author: AUTHOR, columns: COLUMNS, preview: [], total };
    const row = await db.insertImport(tx, { accountId, cleaning: EMPTY_REPORT, ...facts });
    for (const [n, rows] of chunks.entries())
      await db.insertChunk(tx, { accountId, importId: row.id, n, rows: packRows(rows) });
    await contactImport.add(tx, { accountId, key: String(row.id), payload: { importId: row.id } });
    return row;
  });
/** Imports all chunks; `after` is called after each. */
async function workAll(after?: () => Promise<unknown>): Promise<void> {
  const { run, ...kind } = contactImport.using({ pool: database.pool, log: silentLog });
  const observed = async (one: Parameters<typeof run>[0]) => {
    const outcome = await run(one);
    await after?.();
    return outcome;
  };
  await runJobs(database.pool, { ...kind, run: observed });
}
const find = async ({ id }: { id: number }) => db.findImport(database.pool, { accountId, id });
const contacts = async () => (await findBook(database.pool, { accountId }))?.contacts;

test('many workers process every chunk of several imports once', async () => {
  const first = await enqueue(Array.from({ length: 6 }, (_, i) => rowsOf(i * 40, 40)));
  const second = await enqueue(Array.from({ length: 4 }, (_, i) => rowsOf(i * 40, 40)));
  await Promise.all([workAll(), workAll(), workAll()]);
  await workAll();
  const [one, two] = [await find(first), await find(second)];
  expect([one?.status, two?.status]).toEqual(['COMPLETED', 'COMPLETED']);
  expect([(one?.created ?? 0) + (two?.created ?? 0), (one?.updated ?? 0) + (two?.updated ?? 0)]).toEqual([240, 160]);
  expect(await contacts()).toBe(240);
});

test('imports take turns, chunk by chunk', async () => {
  const first = await enqueue([rowsOf(0, 2), rowsOf(2, 2), rowsOf(4, 2)]);
  const second = await enqueue([rowsOf(10, 2), rowsOf(12, 2)]);
  const done = async () => [(await find(first))?.created, (await find(second))?.created];
  const steps: unknown[] = [];
  await workAll(async () => steps.push(await done()));
  expect(steps.slice(0, 4)).toEqual([
    [2, 0],
    [2, 2],
    [4, 2],
    [4, 4],
  ]);
});

test('a chunk that fails is retried later, and given up after some time; the chunks before it stay', async () => {
  const failing = rowOf(5, 'no\0character');
  const row = await enqueue([rowsOf(0, 2), [failing, rowOf(6)]]);
  for (let failures = 0; failures < 8; failures++) {
    await workAll();
    await database.pool.query('UPDATE job SET run_at = now()');
  }
  expect(await find(row)).toMatchObject({
    status: 'FAILED',
    created: 2,
    errors: 0,
    completedAt: expect.any(Date),
    failure: 'Internal error: rows that were imported before stay, the rest was not imported',
  });
  expect(await contacts()).toBe(2);
  expect((await database.pool.query('SELECT FROM job')).rowCount).toBe(0);
});

test('an import whose list is deleted fails at that chunk, and says so', async () => {
  const by = actor(accountId);
  const { id: listId } = await transaction(database.pool, (tx) => createList(tx, by, { name: 'List' }));
  const row = await enqueue([rowsOf(0, 2), rowsOf(2, 2)], listId);
  await workAll(() =>
    transaction(database.pool, (tx) => removeLists(tx, by, { ids: [listId] })).catch(() => undefined),
  );
  expect(await find(row)).toMatchObject({
    status: 'FAILED',
    created: 2,
    failure: `The list ${listId} does not exist: rows that were imported before stay, the rest was not imported`,
  });
  expect(await contacts()).toBe(2);
});

test('at most 10,000 rejected rows are stored, long ones truncated; all are counted', async () => {
  const faults = [{ field: 'phoneNumber', message: 'is wrong' }];
  const bad = (n: number): CheckedRow => ({ line: n, cells: ['x'.repeat(5000), 'y'], faults });
  const row = await enqueue([Array.from({ length: 9_999 }, (_, n) => bad(n)), [bad(10_000), bad(10_001), bad(10_002)]]);
  await workAll();
  expect(await find(row)).toMatchObject({ status: 'COMPLETED', errors: 10_002 });
  const which = { accountId, importId: row.id, limit: 20_000 };
  const kept = await db.listRejects(database.pool, { ...which, afterLine: -1 });
  expect(kept).toHaveLength(10_000);
  expect(kept.at(-1)).toEqual({ line: 10_000, faults, cells: ['x'.repeat(4096), ''] });
});

test('imports that ended long ago are deleted with their rejected rows; waiting ones are not', async () => {
  const ended = await enqueue([[{ line: 1, cells: ['x'], faults: [] }]]);
  await workAll();
  const waiting = await enqueue([rowsOf(0, 1)]);
  await database.pool.query(
    `UPDATE contact_import SET completed_at = completed_at - interval '91 days' WHERE account_id = $1`,
    [accountId],
  );
  expect(await db.deleteOldImports(database.pool, { days: 90 })).toBe(1);
  expect([await find(ended), (await find(waiting))?.status]).toEqual([undefined, 'PENDING']);
  await workAll();
});
