import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { GATEWAY_ACCOUNT_ID, listAuditEntries } from '../accounts/audit.ts';
import { one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { registerOperations } from '../operations.ts';
import { insertConnection } from './connection-store.ts';
import { removeConnection } from './connections.ts';
import { createCostList, listCosts } from './costs.ts';

const database = testDatabase();
const { pool } = database;

let run: (...args: string[]) => Promise<CommandResult>;
let folder = '';
beforeAll(async () => {
  run = commandsOn(database, registerOperations);
  folder = await mkdtemp(join(tmpdir(), 'costs-'));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE connection, audit_entry RESTART IDENTITY CASCADE`);
  for (const name of ['one', 'two']) await insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: {} });
});

const set = (...args: string[]): Promise<CommandResult> => run('cost', 'set', '--connection', 'one', ...args);

async function importFile(csv: string, ...args: string[]): Promise<CommandResult> {
  const file = join(folder, 'prices.csv');
  await writeFile(file, csv);
  return run('cost', 'import', '--connection', 'one', ...args, `@${file}`);
}

const stored = async (): Promise<string[]> =>
  (await listCosts(pool)).map(
    ({ connection, prefix, network, unitMicros }) => `${connection} ${prefix} ${network ?? '-'} ${unitMicros}`,
  );

async function costs() {
  const list = createCostList(pool);
  await list.reload();
  return list;
}

test('a cost for the network goes before one for the prefix, and the longest prefix decides', async () => {
  await set('--price', '0.03');
  await set('--prefix', '39', '--price', '0.02');
  await set('--prefix', '39', '--network', '22201', '--price', '0.01');
  await set('--network', '22210', '--price', '0.015');
  const { find } = await costs();
  expect(find(1, '+393331234567')).toBe(20_000);
  expect(find(1, '+393331234567', '22201')).toBe(10_000);
  expect(find(1, '+393331234567', '22210')).toBe(15_000);
  expect(find(1, '+393331234567', '22299')).toBe(20_000);
  expect(find(1, '+447700900123')).toBe(30_000);
  expect(find(2, '+393331234567')).toBeNull();
});

test('a person who shows no number costs what their country costs', async () => {
  await set('--prefix', '351', '--price', '0.02');
  const { find } = await costs();
  expect([find(1, 'PT.9A'), find(1, 'IT.9A')]).toEqual([20_000, null]);
});

test('nothing is known of the costs before the first reload, nor where none is stated', async () => {
  const list = createCostList(pool);
  expect(list.find(1, '+393331234567')).toBeNull();
  await list.reload();
  expect(list.find(1, '+393331234567', '22201')).toBeNull();
});

test('cost set changes what is there, cost remove removes exactly that, and a running program is notified', async () => {
  const client = await pool.connect();
  try {
    const heard = new Promise<string>((resolve) => client.on('notification', ({ channel }) => resolve(channel)));
    await client.query('LISTEN heliograph_routing');
    await set('--prefix', '39', '--price', '0.02');
    expect(await heard).toBe('heliograph_routing');
  } finally {
    client.release(true);
  }
  await set('--prefix', '39', '--price', '0.000001');
  await set('--prefix', '39', '--network', '22201', '--price', '0');
  expect(await stored()).toEqual(['one 39 - 1', 'one 39 22201 0']);
  const { answer } = await run('cost', 'list', '--prefix', '39');
  const [cost] = (answer as { data: { id: number; network: string | null }[] }).data;
  expect(cost?.network).toBeNull();
  const remove = () => run('cost', 'remove', String(cost?.id));
  expect((await remove()).code).toBe(0);
  expect(await stored()).toEqual(['one 39 22201 0']);
  expect(await remove()).toMatchObject({ code: 1, stderr: 'There is no such cost\n' });
});

test.each([
  ...['-0.01', 'NaN', 'free', '0.0000001'].map((price) => [[`--price=${price}`]]),
  ...['+39', '1234567890123456'].map((prefix) => [['--price', '0.01', `--prefix=${prefix}`]]),
  ...['222', '2220100', 'TIM'].map((network) => [['--price', '0.01', `--network=${network}`]]),
])('%j is no cost, and nothing is stored', async (args) => {
  expect(await set(...args)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^(price|prefix|network): must/) });
  expect(await stored()).toEqual([]);
});

test('a cost of an unknown connection is refused', async () => {
  expect(await run('cost', 'set', '--connection', 'none', '--price', '1')).toMatchObject({
    code: 1,
    stderr: 'There is no connection none\n',
  });
});

test('the price list of a carrier is taken over, with its own headings and signs', async () => {
  await set('--prefix', '39', '--price', '0.5');
  await set('--prefix', '7', '--price', '0.6');
  const csv =
    '\uFEFFCountry;MCC;MNC;Dial Code;Rate\r\nItaly;222;01;+39;0,0123\r\nItaly;222;10;39;0,02\r\nItaly;;;0039;0,03\r\n';
  expect((await importFile(csv)).answer).toEqual({ set: 3, removed: 0 });
  expect(await stored()).toEqual(['one 39 - 30000', 'one 39 22201 12300', 'one 39 22210 20000', 'one 7 - 600000']);
});

test('with --replace, costs that are not in the list are gone, but only those of the connection', async () => {
  await set('--prefix', '7', '--price', '0.6');
  await run('cost', 'set', '--connection', 'two', '--prefix', '7', '--price', '0.6');
  expect((await importFile('mccmnc,price\n222-01,0.01\n', '--replace')).answer).toEqual({ set: 1, removed: 1 });
  expect(await stored()).toEqual(['one  22201 10000', 'two 7 - 600000']);
});

test('a list with invalid lines names each of them, and nothing of it is stored', async () => {
  const csv = 'prefix,network,price\n39,,0.01\n3x,,0.01\n44,22,0.01\n1,,free\n,,0.01\n49,,0.00000001\n';
  const { code, stderr } = await importFile(csv, '--replace');
  expect(code).toBe(1);
  expect(stderr).toContain('line 3: prefix: must be up to 15 digits');
  expect(stderr).toContain('line 4: network: must be MCC and MNC');
  expect(stderr).toContain('line 5, line 7: price: must be an amount');
  expect(stderr).toContain('line 6: has neither a prefix nor a network');
  expect(await stored()).toEqual([]);
});

test.each([
  ['', 'csv: must not be empty'],
  ['prefix,price\n', 'line 1: no prices follow'],
  ['prefix,amount\n39,1\n', 'line 1: has no column "price"'],
  ['country,price\nItaly,1\n', 'line 1: has neither a column "prefix"'],
  ['mcc,price\n222,1\n', 'line 1: has a column "mcc" but no "mnc"'],
  ['mcc,mnc,price\n222,1,1\n', 'line 2: mnc: must be 2 or 3 digits'],
  ['prefix,price\n39,1\n44,1\n+39,2\n', 'line 4: repeats line 2'],
  ['prefix,price\n39,"1\n', 'cannot be read as CSV'],
])('the file %j is refused: %s', async (csv, fault) => {
  expect((await importFile(csv)).stderr).toContain(fault);
  expect(await stored()).toEqual([]);
});

test('the audit log of the gateway names each change of the costs', async () => {
  await set('--prefix', '39', '--price', '0.02');
  await importFile('prefix,price\n39,0.03\n');
  const cost = await one<{ id: number }>(pool, sql`SELECT id FROM connection_cost`);
  await run('cost', 'remove', String(cost.id));
  const filter = { action: null, subject: 'connection:one', fromId: null, toId: null, limit: 10, offset: 0 };
  const entries = await listAuditEntries(pool, { accountId: GATEWAY_ACCOUNT_ID, ...filter });
  expect(entries.map(({ action, detail }) => [action, detail]).sort()).toEqual([
    ['cost.import', { set: 1, removed: 0 }],
    ['cost.remove', { prefix: '39', network: null }],
    ['cost.set', { prefix: '39', network: null, price: 0.02 }],
  ]);
});

test('the costs of a connection go with it', async () => {
  await set('--price', '0.02');
  await transaction(pool, (tx) => removeConnection(tx, { name: 'one', by: 'Ada' }));
  expect(await stored()).toEqual([]);
});
