import { expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { many, sql } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';
import { registerSingleSignOnCommands } from './single-sign-on-change.ts';

test('an operator lets passwords sign in again, and removes the settings', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  const { accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' });
  await pool.query(`INSERT INTO single_sign_on (account_id, short_name, enabled, required, issuer, client_id, scopes)
    VALUES (${accountId}, 'acme', true, true, 'https://login.example.com', 'client', '{openid}')`);
  await pool.query(`INSERT INTO single_sign_on_claim (domain, account_id) VALUES ('example.com', ${accountId})`);
  await pool.query(`INSERT INTO single_sign_on_domain (domain, account_id) VALUES ('example.com', ${accountId})`);
  const run = commandsOn(database, registerSingleSignOnCommands);

  expect(await run('single-sign-on', 'optional', 'Acme')).toMatchObject({ code: 0, answer: { accountId } });
  expect(await many(pool, sql`SELECT required FROM single_sign_on`)).toEqual([{ required: false }]);
  expect(await run('single-sign-on', 'remove', 'Acme')).toMatchObject({ code: 0 });
  expect(await many(pool, sql`SELECT FROM single_sign_on_domain`)).toEqual([]);
  expect(await run('single-sign-on', 'remove', 'Acme')).toMatchObject({ code: 1 });
  const entries = await many<{ actor: string; action: string }>(
    pool,
    sql`SELECT actor_kind AS actor, action FROM audit_entry WHERE action = 'account.single-sign-on' ORDER BY id`,
  );
  expect(entries).toEqual([
    { actor: 'operator', action: 'account.single-sign-on' },
    { actor: 'operator', action: 'account.single-sign-on' },
  ]);
});
