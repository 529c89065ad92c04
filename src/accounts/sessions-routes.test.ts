import { afterAll, beforeEach, expect, test } from 'vitest';
import { newKey } from '../../test/support/http/routes.ts';
import { type Browser, openSessionStage, SESSIONS, sessionIdOf } from '../../test/support/http/session-stage.ts';
import type { NewAccount } from '../operate/account-commands.ts';

const stage = await openSessionStage();
afterAll(() => stage[Symbol.asyncDispose]());

let account: NewAccount;
beforeEach(async () => {
  account = await stage.newAccount();
});

test('are listed for their user, and those of all users with the scope keys', async () => {
  const viewer = await stage.person(account.accountId, 'viewer');
  const [owner, theirs] = [await stage.signIn(account), await stage.signIn(viewer)];
  const total = async ({ ask }: Browser, query = '') => (await ask('GET', `${SESSIONS}${query}`)).body.total;
  expect([await total(owner), await total(theirs)]).toEqual([1, 1]);
  expect([await total(owner, '?all=true'), await total(owner, `?userId=${viewer.id}`)]).toEqual([2, 1]);
  expect(await total(theirs, `?userId=${viewer.id}`)).toBe(1);
  for (const query of ['?all=true', `?userId=${owner.answer.body.user.id}`])
    expect((await theirs.ask('GET', `${SESSIONS}${query}`)).status).toBe(403);
  const byKey = await stage.call('GET', SESSIONS, { headers: { 'x-api-key': account.apiKey } });
  expect(byKey.body.data.map(({ current }: { current: boolean }) => current)).toEqual([false, false]);
  const otherSession = await stage.signIn(await stage.newAccount());
  expect(await total(otherSession, '?all=true')).toBe(1);
  expect(await total(otherSession, `?userId=${viewer.id}`)).toBe(0);
});

test('are ended by their user, or by anyone who may manage that role', async () => {
  const [admin, viewer] = [
    await stage.signIn(await stage.person(account.accountId, 'admin')),
    await stage.signIn(await stage.person(account.accountId, 'viewer')),
  ];
  const [owner, second] = [await stage.signIn(account), await stage.signIn(account)];
  const end = async (by: Browser, of: Browser) =>
    (await by.ask('DELETE', `${SESSIONS}/${await sessionIdOf(of)}`)).status;
  expect(await end(viewer, admin)).toBe(404);
  expect(await end(owner, second)).toBe(204);
  const viewerId = await sessionIdOf(viewer);
  const narrow = { 'x-api-key': await newKey(stage.pool, account, ['keys']) };
  expect((await stage.call('DELETE', `${SESSIONS}/${viewerId}`, { headers: narrow })).status).toBe(403);
  expect(await end(admin, viewer)).toBe(204);
  expect((await admin.ask('DELETE', `${SESSIONS}/${viewerId}`)).status).toBe(404);
  expect([await stage.statusOf(second), await stage.statusOf(viewer), await stage.statusOf(owner)]).toEqual([
    401, 401, 200,
  ]);
  expect(await end(viewer, viewer).catch(() => 'gone')).toBe('gone');
  const entry = (await stage.auditOf(account.accountId)).at(-1);
  expect(entry).toMatchObject({ action: 'session.end', username: admin.answer.body.user.username });
});

test('of another account get exactly the response of unknown ones', async () => {
  const otherSession = await stage.signIn(await stage.newAccount());
  const owner = await stage.signIn(account);
  const id = await sessionIdOf(otherSession);
  const foreign = await owner.ask('DELETE', `${SESSIONS}/${id}`);
  const unknown = await owner.ask('DELETE', `${SESSIONS}/9000000000`);
  const face = ({ status, body }: typeof foreign) => [status, body.message];
  expect(face(foreign)).toEqual(face(unknown));
  expect([foreign.status, await stage.statusOf(otherSession)]).toEqual([404, 200]);
});

test('are all ended but the current one by their user, at once', async () => {
  const person = await stage.person(account.accountId, 'viewer');
  const [here, there, elsewhere] = [await stage.signIn(person), await stage.signIn(person), await stage.signIn(person)];
  const other = await stage.signIn(account);
  expect(await here.ask('DELETE', SESSIONS)).toMatchObject({ status: 200, body: { ended: 2 } });
  const statuses = [here, there, elsewhere, other].map((browser) => stage.statusOf(browser));
  expect(await Promise.all(statuses)).toEqual([200, 401, 401, 200]);
  expect((await here.ask('DELETE', SESSIONS)).body).toEqual({ ended: 0 });
  const byKey = await stage.call('DELETE', SESSIONS, { headers: { 'x-api-key': account.apiKey } });
  expect(byKey.status).toBe(403);
});
