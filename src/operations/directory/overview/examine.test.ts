import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import { ensureCell } from '../../../platform/db/cell.ts';
import { exec, sql } from '../../../platform/db/query.ts';
import { createAccount } from '../../accounts/create.ts';
import { examineCells } from './examine.ts';

const [first, second] = [testDatabase(), testDatabase()];
const NOWHERE = 'postgres://nobody@127.0.0.1:9/none';

beforeAll(async () => {
  await ensureCell(first.pool, 0);
  await ensureCell(second.pool, 1);
  await createAccount(second.pool, { name: 'Acme', plan: 'trial' });
});

const examine = (...databases: [number, string][]) => examineCells(new Map(databases));

test('cells with the same connections, routes and prices are fine', async () => {
  const figures = { ok: true, faults: [], waiting: 0, connectionsDown: 0 };
  expect(await examine([0, first.connectionString], [1, second.connectionString])).toEqual([
    { cell: 0, accounts: 0, ...figures },
    { cell: 1, accounts: 1, ...figures },
  ]);
});

test('names with which people of two cells sign in are listed, but not those of an account that has left one of them', async () => {
  const { accountId } = await createAccount(first.pool, { name: 'Acme', plan: 'trial' });
  const cells = () => examine([0, first.connectionString], [1, second.connectionString]);
  expect((await cells()).map(({ faults }) => faults)).toEqual([
    [],
    ['has names that cell 0 has too: rename user acme'],
  ]);
  await exec(first.pool, sql`INSERT INTO account_move (account_id, state, cell) VALUES (${accountId}, 'left', 1)`);
  expect(await cells()).toMatchObject([
    { faults: [], accounts: 0 },
    { faults: [], accounts: 1 },
  ]);
});

test('a cell that is away, of another number or of other prices is named with what is wrong', async () => {
  await exec(second.pool, sql`INSERT INTO price (channel, prefix, unit_micros) VALUES ('SMS', '999', 1)`);
  const cells = await examine([7, NOWHERE], [0, first.connectionString], [3, second.connectionString]);
  expect(cells.map(({ cell, faults }) => [cell, faults])).toEqual([
    [7, [expect.stringMatching(/^does not answer: .*ECONNREFUSED/)]],
    [0, []],
    [3, ['is the database of cell 1: correct CELL_DATABASES', 'has other connections, routes or prices than cell 0']],
  ]);
});
