import { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../test/support/command.ts';
import { testDatabase } from '../test/support/database.ts';
import { apiDeps } from '../test/support/http/api.ts';
import { buildApi } from './api.ts';
import { COMMANDS } from './commands.ts';
import type { CommandContext } from './core/cli.ts';
import { describeAnswer } from './core/cli-operations.ts';
import { createAccount } from './operate/account-commands.ts';
import { commandsOf, listOperations } from './operations.ts';

const database = testDatabase();
const { pool } = database;

let run: (...args: readonly string[]) => Promise<CommandResult>;
let accountId = 0;
beforeAll(async () => {
  run = commandsOn(database, ...COMMANDS);
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'trial' }));
});

/** Operations that routes register in separate plugins, and why they have no command. */
const NO_COMMANDS: Readonly<Record<string, string>> = {
  'GET /api/files/:mediaKey': 'a file is opened by its link',
  'GET /api/partner-gateway/v1/inbox/conversations/stream': 'a stream has no end',
};

test('every operation that needs credentials has a command, or a written reason for having none', async () => {
  const listed = new Set(listOperations().map(({ route }) => `${String(route.method)} ${route.url}`));
  const deps = apiDeps();
  const app = buildApi(deps);
  const missing: string[] = [];
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    const isOpen = schema?.security?.length === 0 || schema?.hide === true || schema?.operationId === undefined;
    if (method === 'HEAD' || isOpen || config?.form !== undefined || schema.tags?.includes('Sessions')) return;
    if (!listed.has(`${String(method)} ${url}`)) missing.push(`${String(method)} ${url}`);
  });
  await app.ready();
  await app.close();
  await deps.pool.end();
  expect(missing.filter((name) => !(name in NO_COMMANDS))).toEqual([]);
  for (const { route } of listOperations()) {
    const commands = commandsOf(route);
    if ('none' in commands) expect(commands.none, route.url).not.toBe('');
    else expect(commands.length, route.url).toBeGreaterThan(0);
  }
});

test('--help lists every command under a heading', () => {
  const program = new Command();
  const context = { createsEnvFile: () => undefined } as unknown as CommandContext;
  for (const register of COMMANDS) register(program, context);
  const shown = program.commands;
  expect(shown.filter((command) => command.helpGroup() === '').map((command) => command.name())).toEqual([]);
  expect(shown.filter((command) => command.description() === '').map((command) => command.name())).toEqual([]);
});

describe('call', () => {
  const call = (operation: string, ...args: string[]) => run('call', operation, '--account', 'Acme', ...args);

  test('runs an operation of an account, which the audit log ascribes to the operator', async () => {
    expect(await call('create-contact', '--phone-number', '+393331234567', '--first-name', 'Ada')).toMatchObject({
      code: 0,
    });
    const { answer } = await call('list-contacts');
    expect(answer).toMatchObject({ total: 1, limit: 1000, data: [{ firstName: 'Ada' }] });
  });

  test('accepts a body that is no single object as JSON, and sends as the API does', async () => {
    const body = JSON.stringify({ phoneNumber: '+393331234567', message: 'Hello' });
    expect((await call('send-sms', '--body', body)).answer).toMatchObject({ results: [{ accepted: false }] });
  });

  test('keeps to its account', async () => {
    await createAccount(pool, { name: 'Other', plan: 'trial' });
    expect((await run('call', 'list-contacts', '--account', 'Other')).answer).toMatchObject({ total: 0 });
    expect(await run('call', 'list-contacts', '--account', 'Nobody')).toMatchObject({
      code: 1,
      stderr: 'There is no account Nobody\n',
    });
  });
});

test('an account may be named by its name where the API takes its id', async () => {
  expect((await run('route', 'explain', '+393331234567', '--account', 'Acme')).code).toBe(1);
  expect((await run('credit', 'ledger', 'Acme')).answer).toMatchObject({ total: 0 });
  expect((await run('account', 'show', String(accountId))).answer).toMatchObject({ name: 'Acme' });
});

test('responses are written as tables and as names with values, without what could control a terminal', () => {
  const data = [
    { id: 1, lastError: null, name: 'a\u001b[2J', tags: ['x', 'y'] },
    { id: 12, lastError: null, name: 'b', tags: [] },
  ];
  expect(describeAnswer({ data, page: 0, limit: 2, total: 3 })).toBe(
    'id  name   tags\n1   a\ufffd[2J  x, y\n12  b      -\n\n2 of 3: see --page and --limit',
  );
  expect(describeAnswer({ ok: true, hours: { from: '08:00', to: null } })).toBe(
    'ok:     yes\nhours:  from 08:00, to -',
  );
  expect([describeAnswer(null), describeAnswer({ data: [] })]).toEqual(['Done.', 'None.']);
});
