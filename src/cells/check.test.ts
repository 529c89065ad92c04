import { beforeAll, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { exec, sql } from '../core/db/query.ts';
import { createSecretKey, seal } from '../core/secrets.ts';
import { createAccount } from '../operate/account-commands.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { listObstacles, registerCellCommands } from './move.ts';

const [first, second] = [testDatabase(), testDatabase()];
const secretKey = createSecretKey(Buffer.alloc(32, 1));
let accountId: number;

beforeAll(async () => {
  ({ accountId } = await createAccount(first.pool, { name: 'Acme', plan: 'trial' }));
});

test('nothing is in the way of cells that fit, and what differs is named', async () => {
  const list = (filesAreThere = true) =>
    listObstacles({ source: first.pool, target: second.pool, accountId, secretKey, filesAreThere });
  expect(await list()).toEqual([]);
  const main = await insertConnection(first.pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} });
  await exec(first.pool, sql`INSERT INTO route (channel, connection_id) VALUES ('SMS', ${main?.id})`);
  await exec(second.pool, sql`INSERT INTO price (channel, prefix, unit_micros) VALUES ('SMS', '999', 1)`);
  await exec(
    first.pool,
    sql`INSERT INTO template (channel, id, name, status, content) VALUES ('RCS', 'welcome', 'Welcome', 'APPROVED', '{}')`,
  );
  await exec(first.pool, sql`UPDATE app_user SET is_operator = true`);
  await exec(
    first.pool,
    sql`INSERT INTO export (account_id, type, format, status, filters, file_key)
        VALUES (${accountId}, 'HISTORY', 'csv', 'PENDING', '{}', 'a')`,
  );
  const other = await insertConnection(second.pool, { name: 'other', kind: 'smpp', sandbox: false, settings: {} });
  const foreign = seal(createSecretKey(Buffer.alloc(32, 2)), 'password', 'x');
  await exec(second.pool, sql`UPDATE connection SET secret = ${foreign} WHERE id = ${other?.id}`);
  expect(await list(false)).toEqual([
    'acme is an operator of the source: remove that role, or use another account.',
    'The connections differ. Only in the source: smpp main. Only in the target: none.',
    expect.stringMatching(/^The routes differ. Only in the source: SMS \* main 100 hold/),
    expect.stringMatching(/^The prices differ. Only in the source: none. Only in the target: SMS 999 1/),
    'The templates of all accounts differ. Only in the source: RCS welcome 99914b93. Only in the target: none.',
    'The target has another SECRET_KEY.',
    expect.stringMatching(/^The account has 1 files in a folder of this cell/),
  ]);
});

test('a move needs another cell and the directory, and options that contradict each other are refused', async () => {
  const run = commandsOn({ connectionString: first.connectionString }, registerCellCommands);
  const refusal = async (...options: readonly string[]) => (await run('cell', 'move', 'Acme', ...options)).stderr;
  expect(await refusal('--to', '1', '--clear', '--dry-run')).toMatch('cannot be used together');
  expect(await refusal()).toMatch('--to must name another cell');
  expect(await refusal('--to', '0')).toMatch('--to must name another cell');
  expect(await refusal('--to', '1')).toMatch('DIRECTORY_URL must be set');
});
