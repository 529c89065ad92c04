import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { PG } from '../../test/support/http/routes.ts';
import {
  type Browser,
  type Headers,
  openSessionStage,
  SESSION,
  SESSIONS,
} from '../../test/support/http/session-stage.ts';
import { SCOPES } from '../core/actor.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { tenant } from '../core/db/transaction.ts';
import type { NewAccount } from '../operate/account-commands.ts';
import { moveAccountStatus } from './accounts.ts';

const stage = await openSessionStage();
afterAll(() => stage[Symbol.asyncDispose]());

let account: NewAccount;
beforeEach(async () => {
  account = await stage.newAccount();
});

describe('an operator of the gateway', () => {
  const look = (browser: Browser, accountId: number | null) => browser.ask('PUT', `${SESSION}/account`, { accountId });

  test('acts in another account as an admin, and its audit log records the visit', async () => {
    const who = await stage.operator(account.accountId);
    const browser = await stage.signIn(who);
    const other = await stage.newAccount();
    const there = await look(browser, other.accountId);
    expect(there.body).toMatchObject({
      user: { id: who.id, username: who.username, role: 'admin', isOperator: true },
      account: { id: other.accountId },
      ownAccountId: account.accountId,
      role: 'admin',
      operations: [...SCOPES],
    });
    expect((await browser.ask('GET', SESSION)).body).toEqual(there.body);
    const key = await browser.ask('POST', `${PG}/authentication`, { name: 'by the operator' });
    expect((await browser.ask('GET', SESSIONS)).body.total).toBe(0);
    expect((await look(browser, null)).body).toMatchObject({ account: { id: account.accountId }, role: 'admin' });
    expect((await browser.ask('GET', `${PG}/authentication?limit=100`)).body.data).not.toContainEqual(
      expect.objectContaining({ id: key.body.id }),
    );
    const log = await many(
      stage.pool,
      sql`SELECT actor_kind AS kind, user_id AS "userId", username, action, subject, detail FROM audit_entry
        WHERE account_id = ${other.accountId} AND username = ${who.username} ORDER BY id`,
    );
    const by = { kind: 'operator', userId: null, username: who.username };
    expect(log).toEqual([
      { ...by, action: 'session.switch', subject: `account:${other.accountId}`, detail: { looks: true } },
      { ...by, action: 'api-key.create', subject: `api-key:${key.body.id}`, detail: expect.anything() },
      { ...by, action: 'session.switch', subject: `account:${other.accountId}`, detail: { looks: false } },
    ]);
    expect((await stage.auditOf(account.accountId)).map((entry) => entry.action)).toEqual(['session.create']);
  });

  test('switches directly between accounts, and each audit log has its part', async () => {
    const browser = await stage.signIn(await stage.operator(account.accountId));
    const [one, two] = [await stage.newAccount(), await stage.newAccount()];
    await look(browser, one.accountId);
    await look(browser, two.accountId);
    await look(browser, two.accountId);
    await look(browser, account.accountId);
    for (const { accountId } of [one, two])
      expect((await stage.auditOf(accountId)).map((entry) => entry.detail)).toEqual([
        { looks: true },
        { looks: false },
      ]);
  });

  test('confirms who they are to enter an account when the sign-in is old, and leaves one without', async () => {
    const browser = await stage.signIn(await stage.operator(account.accountId));
    const other = await stage.newAccount();
    await look(browser, other.accountId);
    await exec(stage.pool, sql`UPDATE user_session SET proven_at = now() - interval '11 minutes'`);
    expect((await look(browser, null)).status).toBe(200);
    expect(await look(browser, other.accountId)).toMatchObject({ status: 403, body: { code: 'step_up_required' } });
  });

  test('can switch to a suspended account, but not sign in from one', async () => {
    const browser = await stage.signIn(await stage.operator(account.accountId));
    const other = await stage.newAccount();
    await moveAccountStatus(stage.pool, { accountId: other.accountId, from: 'active', to: 'suspended' });
    expect((await look(browser, other.accountId)).body).toMatchObject({ account: { status: 'suspended' } });
    expect(await stage.statusOf(browser)).toBe(200);
    await moveAccountStatus(stage.pool, { accountId: account.accountId, from: 'active', to: 'suspended' });
    expect(await stage.statusOf(browser)).toBe(403);
  });

  test('signs out from there, recorded in the log of their own account', async () => {
    const browser = await stage.signIn(await stage.operator(account.accountId));
    await look(browser, (await stage.newAccount()).accountId);
    expect((await browser.ask('DELETE', SESSION)).status).toBe(204);
    expect(await stage.statusOf(browser)).toBe(401);
    expect((await stage.auditOf(account.accountId)).at(-1)).toMatchObject({ action: 'session.end', kind: 'user' });
  });

  test('has no password to change in another account', async () => {
    const who = await stage.operator(account.accountId);
    const browser = await stage.signIn(who);
    await look(browser, (await stage.newAccount()).accountId);
    const change = { currentPassword: who.password, newPassword: 'another long password' };
    expect((await browser.ask('PUT', `${PG}/users/me/password`, change)).status).toBe(403);
  });

  test('loses access to other accounts as soon as the role is revoked', async () => {
    const who = await stage.operator(account.accountId);
    const [looking, atHome] = [await stage.signIn(who), await stage.signIn(who)];
    await look(looking, (await stage.newAccount()).accountId);
    await stage.setOperator(account.accountId, who.id, false);
    expect([await stage.statusOf(looking), await stage.statusOf(atHome)]).toEqual([401, 200]);
    expect((await look(atHome, null)).status).toBe(403);
  });

  test('is a user with a session or a password, never a key', async () => {
    const who = await stage.operator(account.accountId);
    const basic = (name: string, password: string) => ({
      authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
    });
    const browser = await stage.signIn(who);
    const key = (await browser.ask('POST', `${PG}/authentication`, {})).body.apiKey;
    const status = async (headers: Headers) => (await stage.call('GET', '/operator', { headers })).status;
    expect(await status({ cookie: browser.cookie })).toBe(200);
    expect(await status(basic(who.username, who.password))).toBe(200);
    expect(await status({ 'x-api-key': key })).toBe(403);
    expect(await status(basic(account.username, account.password))).toBe(403);
    expect(await status({})).toBe(401);
  });

  test('needs a session to switch, and an existing account', async () => {
    const who = await stage.operator(account.accountId);
    const browser = await stage.signIn(who);
    const authorization = `Basic ${Buffer.from(`${who.username}:${who.password}`).toString('base64')}`;
    const body = { accountId: account.accountId };
    expect((await stage.call('PUT', `${SESSION}/account`, { headers: { authorization }, body })).status).toBe(403);
    expect((await look(browser, 9_000_000_000)).status).toBe(404);
    expect((await look(await stage.signIn(account), null)).status).toBe(403);
    for (const accountId of ['1', 0, undefined])
      expect((await browser.ask('PUT', `${SESSION}/account`, { accountId })).status).toBe(400);
  });

  test('can only be changed and removed by operators', async () => {
    const who = await stage.operator(account.accountId);
    const owner = await stage.signIn(account);
    const user = `${PG}/users/${who.id}`;
    const key = { 'x-api-key': account.apiKey };
    for (const [method, body] of [
      ['PUT', { password: 'another long password' }],
      ['PUT', { role: 'viewer' }],
      ['DELETE', undefined],
    ] as const) {
      expect((await owner.ask(method, user, body)).status, method).toBe(403);
      expect((await stage.call(method, user, { headers: key, ...(body && { body }) })).status, method).toBe(403);
    }
    const other = await stage.signIn(await stage.operator(account.accountId));
    expect((await other.ask('PUT', user, { password: 'another long password' })).body.isOperator).toBe(true);
  });
});

test('rights of an account permit neither becoming an operator nor switching accounts', async () => {
  const { answer } = await stage.signIn(account);
  const db = tenant(stage.pool, account);
  const id = Number(answer.body.user.id);
  for (const statement of [
    sql`UPDATE app_user SET is_operator = true WHERE id = ${id}`,
    sql`INSERT INTO app_user (account_id, username, password_hash, is_operator) VALUES (${account.accountId}, 'x', 'x', true)`,
    sql`UPDATE user_session SET acting_account_id = 1`,
    sql`INSERT INTO user_session (account_id, user_id, token_hash, acting_account_id) VALUES (${account.accountId}, ${id}, sha256('x'), 1)`,
  ])
    await expect(exec(db, statement)).rejects.toMatchObject({ code: '42501' });
});
