import { beforeAll, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import { many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createSecretKey } from '../core/secrets.ts';
import { createAccount } from '../operate/account-commands.ts';
import { registerOperations } from '../operations.ts';
import { registerEndpoint } from './endpoints.ts';
import { registerWebhookCommands } from './routes.ts';

const database = testDatabase();

const secretKey = createSecretKey(Buffer.alloc(32, 7));

let run: (...args: string[]) => Promise<CommandResult>;
beforeAll(async () => {
  run = commandsOn(database, registerWebhookCommands, registerOperations);
});

async function accountWithWebhook(name: string, url: string): Promise<number> {
  const { accountId } = await createAccount(database.pool, { name, plan: 'unlimited' });
  await transaction(database.pool, (tx) =>
    registerEndpoint(tx, operatorAuthor(accountId), { url, form: 'A', secretKey }),
  );
  return accountId;
}

test('webhook list shows how each webhook fares, and webhook enable makes a disabled one active', async () => {
  const good = await accountWithWebhook('Good', 'https://good.example.com/hook?token=hidden');
  const bad = await accountWithWebhook('Bad', 'https://bad.example.com/hook');
  await many(
    database.pool,
    sql`UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'failing for 5 days',
      failing_since = '2026-11-01T00:00:00Z' WHERE account_id = ${bad}`,
  );
  await many(
    database.pool,
    sql`INSERT INTO webhook_outbox (account_id, kind, message_ids, at, errors)
      VALUES (${good}, 'READ', ARRAY[uuidv7(), uuidv7()], ARRAY[now(), now()], ARRAY['', ''])`,
  );
  const fine = { status: 'active', disabledReason: null, failingSince: null, pending: 0, dead: 0 };
  const shown = { accountId: good, account: 'Good', url: 'https://good.example.com/hook?…', ...fine, pending: 2 };
  const disabled = {
    status: 'disabled',
    disabledReason: 'failing for 5 days',
    failingSince: '2026-11-01T00:00:00.000Z',
  };
  const broken = { accountId: bad, account: 'Bad', url: 'https://bad.example.com/hook', ...fine };
  expect((await run('webhook', 'list')).answer).toEqual([shown, { ...broken, ...disabled }]);

  expect(await run('webhook', 'enable', 'Bad')).toMatchObject({ code: 0 });
  expect((await run('webhook', 'list')).answer).toEqual([shown, broken]);
  const [entry] = await many(
    database.pool,
    sql`SELECT actor_kind AS kind, subject FROM audit_entry WHERE account_id = ${bad} AND action = 'webhook.enable'`,
  );
  expect(entry).toEqual({ kind: 'operator', subject: expect.stringMatching(/^webhook:\d+$/) });
});

test('webhook enable says what is wrong: an active webhook, none at all, or no such account', async () => {
  const active = await accountWithWebhook('Active', 'https://example.com');
  const { accountId: without } = await createAccount(database.pool, { name: 'Without', plan: 'unlimited' });
  const faults: [string, string][] = [
    [String(active), 'The webhook is active'],
    [String(without), 'The account has no webhook'],
    ['Nobody', 'There is no account Nobody'],
  ];
  for (const [account, stderr] of faults)
    expect(await run('webhook', 'enable', account)).toMatchObject({ code: 1, stderr: `${stderr}\n` });
});
