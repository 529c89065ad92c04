import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { silentLog } from '../../platform/lib/log.ts';
import { openDirectory } from './open.ts';
import {
  DIRECTORY_CHANNEL,
  findAccountCell,
  holdAccount,
  listAccountCells,
  moveAccount,
  releaseAccount,
} from './sql.ts';

const { connectionString } = testDatabase({ empty: true });
let db: Pool;
beforeAll(async () => {
  db = await openDirectory(connectionString, silentLog);
});
afterAll(() => db.end());

const IN_CELL_3 = 3 * 2 ** 40 + 17;

test('an account belongs to the cell of its id until it moves, and its requests are held on the way', async () => {
  const account = { accountId: IN_CELL_3 };
  const home = { ...account, cell: 3, movingSince: null };
  expect(await findAccountCell(db, account)).toEqual(home);
  await releaseAccount(db, account);
  expect(await listAccountCells(db)).toEqual([]);

  await holdAccount(db, account);
  expect(await findAccountCell(db, account)).toEqual({ ...account, cell: 3, movingSince: expect.any(Date) });
  // Two holds may fall into one millisecond, and a Date knows no smaller unit.
  await db.query("UPDATE account_cell SET moving_since = '2026-01-01'");
  await holdAccount(db, account);
  const { movingSince } = await findAccountCell(db, account);
  expect(movingSince?.getTime(), 'it begins anew').toBeGreaterThan(Date.parse('2026-01-02'));
  await releaseAccount(db, account);
  expect(await findAccountCell(db, account)).toEqual(home);

  await holdAccount(db, account);
  await moveAccount(db, { ...account, cell: 5 });
  const moved = { ...account, cell: 5, movingSince: null };
  expect(await findAccountCell(db, account)).toEqual(moved);
  await holdAccount(db, account);
  expect(await findAccountCell(db, account)).toMatchObject({ cell: 5, movingSince: expect.any(Date) });
  await moveAccount(db, { ...account, cell: 5 });
  expect(await listAccountCells(db)).toEqual([moved]);
});

test('every change is announced with the id of its account', async () => {
  const listener = await db.connect();
  const heard: (string | undefined)[] = [];
  listener.on('notification', ({ payload }) => heard.push(payload));
  await listener.query(`LISTEN ${DIRECTORY_CHANNEL}`);
  await holdAccount(db, { accountId: 7 });
  await releaseAccount(db, { accountId: 7 });
  await moveAccount(db, { accountId: 8, cell: 1 });
  // Notifications of earlier commits arrive before the answer to a later statement.
  await listener.query('SELECT');
  listener.release(true);
  expect(heard).toEqual(['7', '7', '8']);
});

test('what is wrong with its database is said about DIRECTORY_URL', async () => {
  const opened = openDirectory('postgres://nobody@127.0.0.1:9/none', silentLog);
  await expect(opened).rejects.toThrow('Nothing answers at the address in DIRECTORY_URL');
});
