import { beforeAll, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { insertConnection } from '../network/connections/sql.ts';
import { createAccount } from '../operations/accounts/create.ts';
import { ensureCell } from '../platform/db/cell.ts';
import { exec, sql } from '../platform/db/query.ts';
import { examineCells, listDifferences } from './check.ts';
import { registerCellCommands } from './commands.ts';

const [first, second] = [testDatabase(), testDatabase()];
const NOWHERE = 'postgres://nobody@127.0.0.1:9/none';

beforeAll(async () => {
  await ensureCell(first.pool, 0);
  await ensureCell(second.pool, 1);
  await createAccount(second.pool, { name: 'Acme', plan: 'trial' });
});

test('cells that fit are fine, and what differs is named', async () => {
  const examine = (number: number) =>
    examineCells(
      new Map([
        [7, NOWHERE],
        [0, first.connectionString],
        [number, second.connectionString],
      ]),
    );
  const away = { cell: 7, faults: [expect.stringMatching(/^does not answer: .*ECONNREFUSED/)] };
  expect(await examine(1)).toEqual([
    away,
    { cell: 0, accounts: 0, waiting: 0, faults: [] },
    { cell: 1, accounts: 1, waiting: 0, faults: [] },
  ]);
  const main = await insertConnection(first.pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} });
  await exec(first.pool, sql`INSERT INTO route (channel, connection_id) VALUES ('SMS', ${main?.id})`);
  await exec(second.pool, sql`INSERT INTO price (channel, prefix, unit_micros) VALUES ('SMS', '999', 1)`);
  await exec(
    first.pool,
    sql`INSERT INTO template (channel, id, name, status, content) VALUES ('RCS', 'welcome', 'Welcome', 'APPROVED', '{}')`,
  );
  const faults = [
    'The connections differ. Only in the source: smpp main. Only in the target: none.',
    expect.stringMatching(/^The routes differ. Only in the source: SMS \* main 100 hold/),
    expect.stringMatching(/^The prices differ. Only in the source: none. Only in the target: SMS 999 1/),
    'The templates of all accounts differ. Only in the source: RCS welcome 99914b93. Only in the target: none.',
  ];
  expect(await listDifferences(first.pool, second.pool)).toEqual(faults);
  expect((await examine(1))[2]).toMatchObject({ faults });
  expect((await examine(3))[2]).toEqual({ cell: 3, faults: ['says that it is cell 1: correct CELL_DATABASES'] });
});

test('a move needs another cell and the directory, and options that contradict each other are refused', async () => {
  await createAccount(first.pool, { name: 'Acme', plan: 'trial' });
  const run = commandsOn({ connectionString: first.connectionString }, registerCellCommands);
  const refusal = async (...options: readonly string[]) => (await run('cell', 'move', 'Acme', ...options)).stderr;
  expect(await refusal('--to', '1', '--clear', '--abort')).toMatch('exclude each other');
  expect(await refusal()).toMatch('--to must name another cell');
  expect(await refusal('--to', '0')).toMatch('--to must name another cell');
  expect(await refusal('--to', '1')).toMatch('DIRECTORY_URL must be set');
});
