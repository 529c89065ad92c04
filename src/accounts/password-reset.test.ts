import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { commandsOn } from '../../test/support/command.ts';
import { PG } from '../../test/support/http/routes.ts';
import { OWN_PAGES } from '../../test/support/http/session-stage.ts';
import { type MailServer, startMailServer, tokenIn } from '../../test/support/mail-server.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { hashPassword } from './password.ts';
import { deleteExpiredResets } from './password-reset.ts';
import { registerUserCommands } from './user-routes.ts';
import { insertUser } from './users.ts';

const PASSWORD = 'correct horse battery';
const NEXT = 'another horse, another battery';

let mails: MailServer;
let program: TestProgram;
beforeAll(async () => {
  mails = await startMailServer();
  const environment = {
    SMTP_URL: mails.url,
    MAIL_FROM: 'messages@example.com',
    PUBLIC_URL: 'https://console.example.com',
    TRUST_PROXY: '127.0.0.1',
  };
  program = await startTestProgram({ carriers: {}, environment });
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await mails[Symbol.asyncDispose]();
});
afterEach(() => {
  mails.answer = 'take';
});

let browsers = 0;
/** Sends a request from its own network, unless it names one, so that limits do not affect other tests. */
async function post(path: string, body: object, more: Record<string, string> = OWN_PAGES) {
  browsers += 1;
  const headers = { 'x-forwarded-for': `198.51.100.${browsers}`, 'x-forwarded-proto': 'https', ...more };
  const answer = await fetch(`${program.origin()}${PG}${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, text, cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
}
const request = (username: string, language?: string) => post('/password-reset', { username, language });
const confirm = (token: string, password: string) => post('/password-reset/confirm', { token, password });
const signIn = (username: string, password: string) => post('/session', { username, password });

let people = 0;
async function newUser(username?: string): Promise<{ id: number; username: string }> {
  people += 1;
  const name = username ?? `person${people}@example.com`;
  const { accountId } = program.account;
  const passwordHash = await hashPassword(PASSWORD, { by: 'test' });
  const user = await insertUser(program.pool, { accountId, username: name, passwordHash, role: 'viewer' });
  return { id: user?.id ?? 0, username: name };
}

test('a user with a mail address gets a link, chooses a new password, and is signed out everywhere', async () => {
  const { username } = await newUser();
  const { cookie } = await signIn(username, PASSWORD);
  expect(await request(username.toUpperCase())).toMatchObject({ status: 202 });
  const mail = await mails.mailTo(username);
  expect(mail).toMatchObject({ from: 'messages@example.com', to: [username] });
  expect(mail.headers).toContain('Subject: Choose a new password');
  expect(mail.text).toContain('https://console.example.com/reset-password#');

  expect((await confirm(tokenIn(mail.text), NEXT)).status).toBe(204);
  expect((await signIn(username, PASSWORD)).status).toBe(401);
  expect((await signIn(username, NEXT)).status).toBe(200);
  const session = await fetch(`${program.origin()}${PG}/session`, {
    headers: { cookie, 'x-forwarded-proto': 'https' },
  });
  expect(session.status).toBe(401);
  const audit = await many<{ action: string }>(
    program.pool,
    sql`SELECT action FROM audit_entry WHERE username = ${username} ORDER BY id`,
  );
  const actions = audit.map(({ action }) => action);
  // Both entries in the middle are of one transaction.
  expect([actions[0], ...actions.slice(1, 3).toSorted(), ...actions.slice(3)]).toEqual([
    'session.create',
    'session.end',
    'user.password',
    'session.create',
  ]);
});

test('a link works once, and a refused password does not use it up', async () => {
  const { username } = await newUser();
  await request(username);
  const token = tokenIn((await mails.mailTo(username)).text);
  expect((await confirm(token, 'short')).status).toBe(400);
  expect((await confirm(token, username.toUpperCase())).status).toBe(400);
  const answers = await Promise.all([confirm(token, NEXT), confirm(token, NEXT)]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 400]);
  expect((await confirm(token, NEXT)).status).toBe(400);
});

test('a new password ends the other links of the user', async () => {
  const { username } = await newUser();
  await request(username);
  const first = tokenIn((await mails.mailTo(username)).text);
  await request(username);
  const second = tokenIn((await mails.mailTo(username, 2)).text);
  expect((await confirm(second, NEXT)).status).toBe(204);
  expect((await confirm(first, NEXT)).status).toBe(400);
});

test('a link ends after an hour', async () => {
  const { id, username } = await newUser();
  await request(username);
  const token = tokenIn((await mails.mailTo(username)).text);
  await program.pool.query(`UPDATE password_reset SET expires_at = now() WHERE user_id = ${id}`);
  expect((await confirm(token, NEXT)).status).toBe(400);
  await deleteExpiredResets(program.pool);
  expect(await many(program.pool, sql`SELECT FROM password_reset WHERE user_id = ${id}`)).toEqual([]);
});

test('the database has neither the token nor the text of a mail that waits', async () => {
  mails.answer = 'later';
  const { username } = await newUser();
  const before = mails.offered;
  await request(username);
  await expect.poll(() => mails.offered).toBeGreaterThan(before);
  const rows = await many<{ sealed: string }>(
    program.pool,
    sql`SELECT payload->>'sealed' AS sealed FROM job WHERE kind = 'mail.urgent'`,
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.map(({ sealed }) => Buffer.from(sealed, 'base64').toString('latin1')).join()).not.toMatch(
    /reset-password|@example/,
  );
  mails.answer = 'take';
  await program.pool.query(`UPDATE job SET run_at = now()`);
  await program.pool.query(`NOTIFY heliograph_jobs`);
  const token = tokenIn((await mails.mailTo(username)).text);
  const stored = await one<{ text: string }>(
    program.pool,
    sql`SELECT string_agg(r::text, '') AS text FROM password_reset r`,
  );
  expect(stored.text).not.toContain(token);
});

test('the response is the same for a user, for an unknown name, and for a user without an email address', async () => {
  const { username } = await newUser();
  const plain = await newUser('withoutaddress');
  const marker = await newUser();
  const answers = await Promise.all([username, 'nobody@example.com', plain.username].map((name) => request(name)));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  await mails.mailTo(username);
  await request(marker.username);
  await mails.mailTo(marker.username);
  expect(mails.mails.flatMap(({ to }) => to)).not.toContain('nobody@example.com');
});

const isWaiting = async (): Promise<boolean> =>
  (await many(program.pool, sql`SELECT FROM job WHERE kind = 'password.reset'`)).length > 0;

test('a user of a suspended account gets no link', async () => {
  const [{ username }, marker] = [await newUser(), await newUser()];
  await exec(program.pool, sql`UPDATE account SET status = 'suspended' WHERE id = ${program.account.accountId}`);
  expect((await request(username)).status).toBe(202);
  await until('an end of the request', async () => !(await isWaiting()));
  await exec(program.pool, sql`UPDATE account SET status = 'active' WHERE id = ${program.account.accountId}`);
  await request(marker.username);
  await mails.mailTo(marker.username);
  expect(mails.mails.flatMap(({ to }) => to)).not.toContain(username);
});

test('the mail is in the language that the page asks for', async () => {
  const { username } = await newUser();
  await request(username, 'it');
  expect((await mails.mailTo(username)).text).toContain('È stata richiesta una nuova password');
});

test('a user gets at most three mails an hour', async () => {
  const { username } = await newUser();
  for (let n = 1; n <= 3; n++) {
    await request(username);
    await mails.mailTo(username, n);
  }
  await request(username);
  const marker = await newUser();
  await request(marker.username);
  // Requests are handled in their order.
  await mails.mailTo(marker.username);
  expect(mails.mails.filter(({ to }) => to.includes(username))).toHaveLength(3);
});

test('requests from other sites are refused, and so are long ones', async () => {
  expect(
    (await post('/password-reset', { username: 'a@example.com' }, { 'sec-fetch-site': 'cross-site' })).status,
  ).toBe(403);
  expect((await request('a'.repeat(5000))).status).toBe(413);
});

test('one network may ask ten times a minute', async () => {
  const headers = { ...OWN_PAGES, 'x-forwarded-for': '203.0.113.9' };
  const ask = (_: unknown, n: number) => post('/password-reset', { username: `nobody${n}@example.com` }, headers);
  const answers = await Promise.all(Array.from({ length: 12 }, ask));
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(2);
});

test('the operator command prints a link that works without a mail server', async () => {
  const { username } = await newUser('withoutmail');
  const run = commandsOn({ connectionString: program.environment['DATABASE_URL'] ?? '' }, registerUserCommands);
  const { answer } = await run('user', 'reset-link', username);
  expect((await confirm(tokenIn(JSON.stringify(answer)), NEXT)).status).toBe(204);
  expect((await signIn(username, NEXT)).status).toBe(200);
  expect(await run('user', 'reset-link', 'nobody')).toMatchObject({ code: 1, stderr: 'There is no user nobody\n' });
});
