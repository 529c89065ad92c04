import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { newKey, PG } from '../../test/support/http/routes.ts';
import { OWN_PAGES } from '../../test/support/http/session-stage.ts';
import { type MailServer, startMailServer, tokenIn } from '../../test/support/mail-server.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { many, sql } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';
import { deleteOldInvitations } from './invitations.ts';
import { registerUserCommands } from './user-routes.ts';

const PASSWORD = 'correct horse battery';
const INVITATIONS = '/invitations';

let mails: MailServer;
let program: TestProgram;
let mute: TestProgram;
beforeAll(async () => {
  mails = await startMailServer();
  const proxied = { TRUST_PROXY: '127.0.0.1', PUBLIC_URL: 'https://console.example.com' };
  const environment = { ...proxied, SMTP_URL: mails.url, MAIL_FROM: 'messages@example.com' };
  program = await startTestProgram({ carriers: {}, environment });
  mute = await startTestProgram({ carriers: {}, environment: proxied, roles: { worker: false } });
});
afterAll(async () => {
  await Promise.all([program[Symbol.asyncDispose](), mute[Symbol.asyncDispose]()]);
  await mails[Symbol.asyncDispose]();
});

let browsers = 0;
async function call(at: TestProgram, method: string, path: string, body?: object, key?: string) {
  browsers += 1;
  const answer = await fetch(`${at.origin()}${PG}${path}`, {
    method,
    headers: {
      ...OWN_PAGES,
      'x-forwarded-for': `198.51.100.${browsers}`,
      'x-forwarded-proto': 'https',
      ...(body && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'x-api-key': key }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const retryAfter = Number(answer.headers.get('retry-after'));
  return { status: answer.status, retryAfter, body: text === '' ? null : JSON.parse(text) };
}
const asAdmin = (method: string, path: string, body?: object) =>
  call(program, method, path, body, program.account.apiKey);
const invite = (email: string, role = 'viewer', more: object = {}) =>
  asAdmin('POST', INVITATIONS, { email, role, ...more });
const resend = (id: number) => asAdmin('POST', `${INVITATIONS}/${id}/resend`, {});
/** Makes the last mails of all invitations so much older. */
const letMinutesPass = (minutes: number) =>
  program.pool.query('UPDATE invitation SET sent_at = sent_at - make_interval(mins => $1)', [minutes]);
const openLink = (token: string) => call(program, 'POST', `${INVITATIONS}/open`, { token });
const accept = (token: string, password = PASSWORD) =>
  call(program, 'POST', `${INVITATIONS}/accept`, { token, password });
const signIn = (username: string) => call(program, 'POST', '/session', { username, password: PASSWORD });

describe('an invited person', () => {
  test('gets a mail with a link, chooses a password and signs in', async () => {
    const made = await invite(' Anna@Example.com ', 'sender');
    expect(made).toMatchObject({ status: 201, body: { email: 'anna@example.com', role: 'sender', link: null } });
    const mail = await mails.mailTo('anna@example.com');
    expect(mail.text).toContain('the account “Acme”');
    const token = tokenIn(mail.text);
    expect(await openLink(token)).toMatchObject({
      status: 200,
      body: { username: 'anna@example.com', accountName: 'Acme', role: 'sender' },
    });
    expect((await accept(token, 'short')).status).toBe(400);
    expect((await accept(token, 'ANNA@example.com')).status).toBe(400);
    const answers = await Promise.all([accept(token), accept(token)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 400]);
    expect(await signIn('anna@example.com')).toMatchObject({ status: 200, body: { role: 'sender' } });
    expect((await asAdmin('GET', INVITATIONS)).body.data).toEqual([]);
    const audit = await many<{ action: string }>(
      program.pool,
      sql`SELECT action FROM audit_entry WHERE detail->>'email' = 'anna@example.com'
            OR detail->>'username' = 'anna@example.com' ORDER BY id`,
    );
    expect(audit.map(({ action }) => action)).toEqual(['invitation.create', 'user.create']);
  });

  test('reads the mail in the language that the admin chose', async () => {
    await invite('ital@example.com', 'viewer', { language: 'it' });
    expect((await mails.mailTo('ital@example.com')).text).toContain('Hai ricevuto un invito');
  });

  test('uses the newest link when the invitation was sent again', async () => {
    const { body } = await invite('twice@example.com');
    const first = tokenIn((await mails.mailTo('twice@example.com')).text);
    await letMinutesPass(5);
    expect((await resend(body.id)).status).toBe(200);
    const second = tokenIn((await mails.mailTo('twice@example.com', 2)).text);
    expect((await openLink(first)).status).toBe(400);
    expect((await accept(second)).status).toBe(201);
  });

  test('cannot accept what was revoked or has expired', async () => {
    const { body } = await invite('revoked@example.com');
    const revoked = tokenIn((await mails.mailTo('revoked@example.com')).text);
    expect((await asAdmin('DELETE', `${INVITATIONS}/${body.id}`)).status).toBe(204);
    expect((await accept(revoked)).status).toBe(400);
    await invite('late@example.com');
    const late = tokenIn((await mails.mailTo('late@example.com')).text);
    await program.pool.query(
      `UPDATE invitation SET expires_at = now() - interval '31 days' WHERE email = 'late@example.com'`,
    );
    expect((await accept(late)).status).toBe(400);
    expect(await deleteOldInvitations(program.pool)).toBe(1);
  });

  test('cannot accept what the admin who invited may no longer grant', async () => {
    const password = 'a password of an admin';
    await asAdmin('POST', '/users', { username: 'inviter', password, role: 'admin' });
    const authorization = `Basic ${btoa(`inviter:${password}`)}`;
    const inviting = await fetch(`${program.origin()}${PG}${INVITATIONS}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', 'x-forwarded-proto': 'https' },
      body: JSON.stringify({ email: 'friend@example.com', role: 'admin' }),
    });
    expect(inviting.status).toBe(201);
    const token = tokenIn((await mails.mailTo('friend@example.com')).text);
    await program.pool.query(`UPDATE app_user SET role = 'viewer' WHERE username = 'inviter'`);
    expect((await accept(token)).status).toBe(403);
    await program.pool.query(`DELETE FROM app_user WHERE username = 'inviter'`);
    expect((await accept(token)).status).toBe(400);
  });
});

describe('an invitation is refused', () => {
  test('for what is no mail address, a username that is taken, and a second time', async () => {
    for (const email of ['nobody', 'a@b', 'a b@example.com', 'a@example.com\nBcc: b@example.com'])
      expect((await invite(email)).status).toBe(400);
    await invite('once@example.com');
    expect((await invite('once@example.com')).status).toBe(409);
    await accept(tokenIn((await mails.mailTo('once@example.com')).text));
    expect((await invite('once@example.com')).status).toBe(409);
  });

  test('again within five minutes, and to one address more than three times in an hour, naming the wait', async () => {
    const { body } = await invite('often@example.com');
    const first = tokenIn((await mails.mailTo('often@example.com')).text);
    const soon = await resend(body.id);
    expect(soon).toMatchObject({ status: 429, body: { message: expect.stringContaining('five minutes') } });
    expect(soon.retryAfter).toBeGreaterThan(280);
    // Nothing has changed: the link that the person has still works.
    expect((await openLink(first)).status).toBe(200);
    for (const expected of [200, 200, 429]) {
      await letMinutesPass(5);
      expect((await resend(body.id)).status).toBe(expected);
    }
    await asAdmin('DELETE', `${INVITATIONS}/${body.id}`);
    const again = await invite('often@example.com');
    expect(again.status).toBe(429);
    expect(again.retryAfter).toBeGreaterThan(3000);
    expect((await asAdmin('GET', INVITATIONS)).body.data.map(({ email }: { email: string }) => email)).not.toContain(
      'often@example.com',
    );
  });

  test('to callers who may not grant that role', async () => {
    const key = await newKey(program.pool, program.account, ['keys']);
    expect((await call(program, 'POST', INVITATIONS, { email: 'up@example.com', role: 'admin' }, key)).status).toBe(
      403,
    );
    const without = await newKey(program.pool, program.account, ['contacts']);
    expect((await call(program, 'GET', INVITATIONS, undefined, without)).status).toBe(403);
  });

  test('where people sign in with single sign-on', async () => {
    const { accountId, apiKey } = await createAccount(program.pool, { name: 'Sso', plan: 'unlimited' });
    await program.pool.query(`INSERT INTO single_sign_on (account_id, short_name, enabled, required, issuer, client_id, scopes)
      VALUES (${accountId}, 'sso', true, true, 'https://a.example', 'c', '{openid}')`);
    const { status } = await call(program, 'POST', INVITATIONS, { email: 'x@example.com', role: 'viewer' }, apiKey);
    expect(status).toBe(409);
  });
});

test('the invitations of another account are like unknown ones', async () => {
  const { body } = await invite('ours@example.com');
  const { apiKey } = await createAccount(program.pool, { name: 'Neighbour', plan: 'unlimited' });
  const theirs = (method: string, path: string, more?: object) => call(program, method, path, more, apiKey);
  expect((await theirs('GET', INVITATIONS)).body.data).toEqual([]);
  expect((await theirs('DELETE', `${INVITATIONS}/${body.id}`)).status).toBe(404);
  expect((await theirs('POST', `${INVITATIONS}/${body.id}/resend`, {})).status).toBe(404);
  expect((await asAdmin('GET', INVITATIONS)).body.data.map(({ email }: { email: string }) => email)).toContain(
    'ours@example.com',
  );
});

describe('without a mail server', () => {
  const asMuteAdmin = (method: string, path: string, body?: object) =>
    call(mute, method, path, body, mute.account.apiKey);

  test('the admin gets the link to pass on, and no mail is queued', async () => {
    const { body } = await asMuteAdmin('POST', INVITATIONS, { email: 'bob@example.com', role: 'viewer' });
    const answer = await call(mute, 'POST', `${INVITATIONS}/accept`, { token: tokenIn(body.link), password: PASSWORD });
    expect(answer).toMatchObject({ status: 201, body: { username: 'bob@example.com' } });
    expect(await many(mute.pool, sql`SELECT FROM job`)).toEqual([]);
  });

  test('a forgotten password is 409 for known and unknown users', async () => {
    const ask = (username: string) => call(mute, 'POST', '/password-reset', { username });
    expect((await ask('bob@example.com')).status).toBe(409);
    expect((await ask('nobody@example.com')).status).toBe(409);
  });

  test('the operator command prints the link', async () => {
    const run = commandsOn({ connectionString: mute.environment['DATABASE_URL'] ?? '' }, registerUserCommands);
    const { answer } = await run('user', 'invite', 'Acme', 'carla@example.com', '--role', 'admin');
    const token = tokenIn(JSON.stringify(answer));
    expect((await call(mute, 'POST', `${INVITATIONS}/accept`, { token, password: PASSWORD })).status).toBe(201);
  });
});
