import { beforeAll, beforeEach, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { GATEWAY_ACCOUNT_ID, listAuditEntries } from '../accounts/audit.ts';
import { sql } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';
import { registerOperations } from '../operations.ts';
import { insertConnection } from './connection-store.ts';
import { insertCosts } from './costs.ts';
import { listPolicies } from './policies.ts';
import { listRoutes } from './routes.ts';

const database = testDatabase();
const { pool } = database;

let run: (...args: string[]) => Promise<CommandResult>;
let accountId = 0;
beforeAll(async () => {
  run = commandsOn(database, registerOperations);
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'trial' }));
});
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE route_policy, connection, audit_entry RESTART IDENTITY CASCADE`);
  for (const name of ['one', 'two']) await insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: {} });
});

const add = (connection: string, ...args: string[]): Promise<CommandResult> =>
  run('route', 'add', '--channel', 'SMS', '--prefix', '39', '--connection', connection, ...args);

const hours = (from: string, to: string, weekdays = '1,2,3,4,5,6,7', timeZone = 'UTC') => [
  `--hours.from=${from}`,
  `--hours.to=${to}`,
  `--hours.weekdays=${weekdays}`,
  `--hours.time-zone=${timeZone}`,
];

test('a route has the conditions that its options say', async () => {
  await add('one', '--network', '22201', '--account', 'Acme', '--sender', 'ACME', '--weight', '30');
  await add('one', ...hours('20:00', '08:00', '1,2,3,6', 'Europe/Rome'));
  await add('one');
  const rows = (await listRoutes(pool)).map(({ network, accountId, sender, hours, weight }) => ({
    network,
    accountId,
    sender,
    hours,
    weight,
  }));
  const none = { network: null, accountId: null, sender: null, hours: null, weight: null };
  expect(rows).toEqual([
    { network: '22201', accountId, sender: 'ACME', hours: null, weight: 30 },
    { ...none, hours: { from: '20:00', to: '08:00', timeZone: 'Europe/Rome', weekdays: [1, 2, 3, 6] } },
    none,
  ]);
});

test.each([
  [['--network', 'TIM'], 'network: must be MCC and MNC'],
  [['--account', '0'], 'There is no account 0'],
  [['--sender', ''], 'sender: must'],
  [['--weight', '1001'], 'weight: must be at most 1000'],
  [['--weight', '0'], 'weight: must be'],
  [hours('08:00', '08:00'), 'hours: must begin and end at different times'],
  [hours('08:00', '20:00', '1', 'Rome'), 'hours: Rome is not a time zone'],
  [['--priority', '1.5'], 'priority: must be a whole number'],
])('a route with %j is refused: %s', async (args, fault) => {
  const { code, stderr } = await add('one', ...args);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(fault) });
  expect(await listRoutes(pool)).toEqual([]);
});

test('a route with conditions is removed by its id, and the audit log says what it was', async () => {
  const { answer } = await add('one', '--account', 'Acme');
  const { id } = answer as { id: number };
  expect(await run('route', 'remove', String(id))).toMatchObject({ code: 0 });
  expect(await listRoutes(pool)).toEqual([]);
  const filter = { action: 'route.remove', subject: null, fromId: null, toId: null, limit: 10, offset: 0 };
  const [entry] = await listAuditEntries(pool, { accountId: GATEWAY_ACCOUNT_ID, ...filter });
  expect(entry).toMatchObject({ subject: `route:${id}`, detail: { prefix: '39', accountId, connection: 'one' } });
  expect(await run('route', 'remove', String(id))).toMatchObject({ code: 1, stderr: 'There is no such route\n' });
});

test('an explanation shows the order, the cost of each connection, and why a route is not used', async () => {
  await add('one');
  await add('two', ...hours('08:00', '20:00', '1,2,3,4,5,6,7', 'Europe/Rome'));
  await insertCosts(pool, { costs: [{ connectionId: 1, prefix: '39', network: null, unitMicros: 21_000 }] });
  const at = (time: string) => run('route', 'explain', '+393331234567', '--at', time);
  expect((await at('2027-01-15T12:00:00Z')).answer).toMatchObject({
    prefix: '39',
    data: [
      { connection: 'two', place: 1, cost: null },
      { connection: 'one', place: 2, cost: 0.021, standing: null, delivered: null },
    ],
  });
  expect((await at('2027-01-15T22:00:00Z')).answer).toMatchObject({
    data: [
      { connection: 'one', place: 1 },
      { connection: 'two', place: null, obstacles: ['hours'] },
    ],
  });
});

test('an explanation of a number without a route ends with 1', async () => {
  expect(await run('route', 'explain', '393331234567')).toMatchObject({ code: 1 });
  expect(await run('route', 'explain', 'Ada')).toMatchObject({ code: 1 });
});

test('a policy is set, changed by setting it again, listed and removed', async () => {
  const set = (...args: string[]) => run('route', 'policy', 'set', '--policy', 'least-cost', ...args);
  await set('--prefix', '39');
  await set('--prefix', '39', '--floor', '0.95', '--explore', '0.01', '--max-receipt-seconds', '30');
  const [policy, ...others] = await listPolicies(pool);
  expect(others).toEqual([]);
  expect(policy).toMatchObject({
    prefix: '39',
    policy: 'least-cost',
    minDelivered: 950,
    explore: 10,
    maxReceiptSeconds: 30,
    minSamples: 50,
    hours: 3,
  });
  expect((await run('route', 'policy', 'list')).answer).toMatchObject({ data: [{ prefix: '39' }] });
  expect(await run('route', 'policy', 'remove', String(policy?.id))).toMatchObject({ code: 0 });
  expect(await run('route', 'policy', 'remove', String(policy?.id))).toMatchObject({ code: 1 });
  expect(await listPolicies(pool)).toEqual([]);
});

test.each([
  [['--floor', '1.1'], 'floor: must be at most 1'],
  [['--explore', '0.6'], 'explore: must be at most 0.5'],
  [['--min-samples', '0'], 'minSamples: must be at least 1'],
  [['--hours', '49'], 'hours: must be at most 48'],
  [['--max-receipt-seconds', '0'], 'maxReceiptSeconds: must be'],
  [['--prefix', '+39'], 'prefix: must be up to 15 digits'],
])('a policy with %j is refused: %s', async (args, fault) => {
  const { code, stderr } = await run('route', 'policy', 'set', '--policy', 'least-cost', ...args);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(fault) });
});
