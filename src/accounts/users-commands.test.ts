import { beforeAll, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { many, sql } from '../core/db/query.ts';
import { createAccount, createDemoAccount, registerAccountCommands } from '../operate/account-commands.ts';
import { registerOperatorCommands } from './user-routes.ts';

const database = testDatabase();

let run: (...args: readonly string[]) => Promise<CommandResult>;

beforeAll(async () => {
  run = commandsOn(database, registerOperatorCommands, registerAccountCommands);
});

const operators = async (): Promise<string[]> =>
  ((await run('operator', 'list')).answer as { username: string }[]).map(({ username }) => username);

test('the first user of the first account is an operator, those of later accounts only on request', async () => {
  const demo = await createDemoAccount(database.pool);
  await run('account', 'create', '--name', 'Plain');
  await run('account', 'create', '--name', 'Trusted', '--operator');
  expect(await operators()).toEqual([demo?.username, 'trusted']);
});

test('a user is made an operator and loses it again, with one audit entry each', async () => {
  const { accountId, username } = await createAccount(database.pool, { name: 'Someone', plan: 'trial' });
  for (let i = 0; i < 2; i++)
    expect((await run('operator', 'grant', username)).answer).toMatchObject({ username, accountId, isOperator: true });
  expect(await operators()).toContain(username);
  for (let i = 0; i < 2; i++)
    expect((await run('operator', 'revoke', username)).answer).toMatchObject({ username, isOperator: false });
  expect(await operators()).not.toContain(username);
  const log = await many(
    database.pool,
    sql`SELECT actor_kind AS kind, detail FROM audit_entry
      WHERE account_id = ${accountId} AND action = 'user.operator' ORDER BY id`,
  );
  expect(log).toEqual([true, false].map((isOperator) => ({ kind: 'operator', detail: { isOperator } })));
});

test('an unknown username is an error', async () => {
  const { code, stderr } = await run('operator', 'grant', 'nobody');
  expect([code, stderr]).toEqual([1, expect.stringContaining('There is no user nobody')]);
});
