import { afterAll, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { PG } from '../../test/support/http/routes.ts';
import { openSessionStage } from '../../test/support/http/session-stage.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { registerAccountCommands } from '../operate/account-commands.ts';
import { secondFactorTasks } from './second-factors.ts';
import { sessionTasks } from './sessions.ts';

const stage = await openSessionStage();
afterAll(() => stage[Symbol.asyncDispose]());
const run = commandsOn(stage.database, registerAccountCommands);

const count = async (table: 'totp_factor' | 'recovery_code' | 'pending_sign_in' | 'passkey_challenge') =>
  (await stage.pool.query(`SELECT 1 FROM ${table}`)).rows.length;

test('the operator removes the factors of the last admin, who can then sign in with the password', async () => {
  const account = await stage.newAccount();
  const browser = await stage.signIn(account);
  const { id } = browser.answer.body.user;
  const { accountId } = account;
  await exec(
    stage.pool,
    sql`INSERT INTO totp_factor (account_id, user_id, secret) VALUES (${accountId}, ${id}, '\\x00')`,
  );
  await exec(
    stage.pool,
    sql`INSERT INTO recovery_code (account_id, user_id, code_hash) VALUES (${accountId}, ${id}, sha256('x'))`,
  );
  const { username } = account;
  const { answer } = await run('account', 'remove-second-factors', username);
  expect(answer).toEqual({ username, accountId });
  expect([await count('totp_factor'), await count('recovery_code'), await stage.statusOf(browser)]).toEqual([
    0, 0, 401,
  ]);
  await stage.signIn(account);
  const entries = await many(
    stage.pool,
    sql`SELECT actor_kind AS kind, subject FROM audit_entry WHERE action = 'second-factor.remove'`,
  );
  expect(entries).toEqual([{ kind: 'operator', subject: `user:${id}` }]);
  const unknown = await run('account', 'remove-second-factors', 'nobody');
  expect([unknown.code, unknown.stderr.trim()]).toEqual([1, 'There is no user nobody']);
});

test('what was begun and not completed is deleted when it is over, and not before', async () => {
  const account = await stage.newAccount();
  const browser = await stage.signIn(account);
  const { id } = browser.answer.body.user;
  await browser.ask('POST', `${PG}/users/me/second-factors/passkeys/options`);
  await exec(
    stage.pool,
    sql`INSERT INTO pending_sign_in (token_hash, account_id, user_id) VALUES (sha256('t'), ${account.accountId}, ${id})`,
  );
  const tasks = [...sessionTasks(stage), ...secondFactorTasks(stage)];
  const left = async (): Promise<number[]> => {
    for (const { work } of tasks) await work();
    return [await count('pending_sign_in'), await count('passkey_challenge')];
  };
  expect(await left()).toEqual([1, 1]);
  await exec(stage.pool, sql`UPDATE pending_sign_in SET created_at = now() - interval '1 hour'`);
  await exec(stage.pool, sql`UPDATE passkey_challenge SET created_at = now() - interval '1 hour'`);
  expect(await left()).toEqual([0, 0]);
});
