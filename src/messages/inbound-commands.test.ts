import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { runCommand } from '../core/cli.ts';
import { sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createMetrics } from '../core/metrics.ts';
import { receiveIntoInbox } from '../inbox/receive.ts';
import { createAccount } from '../operate/account-commands.ts';
import { registerOperations } from '../operations.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { createInboundInbox, registerInboundCommands } from './inbound.ts';

const { pool, connectionString } = testDatabase();

let connectionId: number;
let accountId: number;
beforeAll(async () => {
  connectionId = (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'trial' }));
});
beforeEach(() => reset(pool, sql`TRUNCATE inbound_number, inbound_part, inbound_seen, inbound_message`));

async function run(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const out = { stdout: '', stderr: '' };
  const writer = (name: keyof typeof out) => ({ write: (text: string) => (out[name] += text) });
  const code = await runCommand([registerInboundCommands, registerOperations], {
    argv: ['node', 'main.ts', ...args],
    env: { DATABASE_URL: connectionString, SECRET_KEY: '5e'.repeat(32) },
    stdout: writer('stdout'),
    stderr: writer('stderr'),
  });
  return { code, ...out };
}
async function json(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}
const assign = (number: string, account = 'Acme') =>
  json('number', 'assign', '--number', number, '--connection', 'main', '--account', account);
const remove = (number: string) => run('number', 'remove', '--number', number, '--connection', 'main');
const arrive = (text: string, destination = '4400') =>
  createInboundInbox({ log: silentLog, metrics: createMetrics(), pool, onInbound: receiveIntoInbox })({
    connectionId,
    inbound: { source: '39333', destination, text, concat: null, raw: Buffer.from(text) },
  });

test('numbers are assigned, listed, assigned to another account and unassigned', async () => {
  const { accountId: otherId } = await createAccount(pool, { name: 'Other', plan: 'trial' });
  expect(await assign('+4400')).toEqual({ number: '4400', connection: 'main', accountId });
  await assign('*', String(otherId));
  await assign('4400', 'Other');
  const other = { connection: 'main', accountId: otherId, account: 'Other' };
  expect(await json('number', 'list')).toMatchObject({
    data: [
      { number: '*', ...other },
      { number: '4400', ...other },
    ],
  });
  expect((await remove('+4400')).code).toBe(0);
  expect(await json('number', 'list')).toMatchObject({ data: [{ number: '*' }] });
  expect((await run('number', 'list')).stdout).toContain('main  ');
});

test.each([
  ['a number with letters', ['--number', 'ACME', '--connection', 'main', '--account', 'Acme'], 'up to 20 digits'],
  ['no number', ['--number', '', '--connection', 'main', '--account', 'Acme'], 'number: must'],
  ['an unknown connection', ['--number', '1', '--connection', 'none', '--account', 'Acme'], 'no connection none'],
  ['an unknown account', ['--number', '1', '--connection', 'main', '--account', 'None'], 'no account None'],
])('%s is refused with a reason', async (_, flags, reason) => {
  const { code, stderr } = await run('number', 'assign', ...flags);
  expect(code).toBe(1);
  expect(stderr).toContain(reason);
});

test('removing a number that no account has is an error', async () => {
  expect(await remove('4400')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Database: .*\nNo account has 4400 on main\n$/),
  });
});

test('messages are listed newest first: those of an account, or those to unassigned numbers', async () => {
  await assign('4400');
  await arrive('one');
  await arrive('two');
  await arrive('whose?', '4401');
  const mine = { accountId, connection: 'main', source: '39333', destination: '4400', parts: 1, partsReceived: 1 };
  expect(await json('inbound', 'list', '--account', 'Acme')).toMatchObject([
    { ...mine, body: 'two' },
    { ...mine, body: 'one' },
  ]);
  expect(await json('inbound', 'list', '--account', 'Acme', '--limit', '1')).toMatchObject([{ body: 'two' }]);
  expect(await json('inbound', 'list')).toMatchObject([{ accountId: 0, destination: '4401', body: 'whose?' }]);
  expect((await run('inbound', 'list', '--limit', '0')).stderr).toContain('from 1 to 10000');
});

test("a received text cannot control the operator's terminal", async () => {
  await arrive('\u001b[2J\u009b31m one\r\ntwo \u202ereverse 😀');
  const { stdout } = await run('inbound', 'list');
  const lines = stdout.trim().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[1]).not.toMatch(/[\p{Cc}\u202e]/u);
  expect(stdout).toContain('reverse 😀');
});
