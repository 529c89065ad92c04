import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { NewAccount } from '../../operations/accounts/create.ts';
import { PG } from '../../../test/support/http/routes.ts';
import { type Headers, HOST, openSessionStage, OWN_PAGES, SESSION } from '../../../test/support/http/session-stage.ts';

const stage = await openSessionStage();
afterAll(() => stage[Symbol.asyncDispose]());

let account: NewAccount;
beforeEach(async () => {
  account = await stage.newAccount();
});

describe('a browser sent from another site', () => {
  const console1 = { 'x-heliograph-console': '1' };
  const own = { origin: `https://${HOST}` };
  test.each<[string, Headers, boolean]>([
    ['our own page', OWN_PAGES, true],
    ['our own page in a browser that names its origin only', { ...console1, ...own }, true],
    ['a form of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, false],
    ['a form of our own origin, without the header', { 'sec-fetch-site': 'same-origin', ...own }, false],
    ['a script of another site', { ...console1, 'sec-fetch-site': 'cross-site' }, false],
    ['a neighbour on this site', { ...console1, 'sec-fetch-site': 'same-site' }, false],
    ['somebody who typed it', { ...console1, 'sec-fetch-site': 'none' }, false],
    ['a page that says both', { ...console1, ...own, 'sec-fetch-site': 'cross-site' }, false],
    ['another origin', { ...console1, origin: 'https://evil.example' }, false],
    ['our host by plain HTTP', { ...console1, origin: `http://${HOST}` }, false],
    ['another port of our host', { ...console1, origin: `https://${HOST}:8443` }, false],
    ['a page of no origin', { ...console1, origin: 'null' }, false],
    ['a program that has the cookie', console1, false],
    ['a header that says something else', { ...OWN_PAGES, 'x-heliograph-console': 'true' }, false],
  ])('%s', async (_who, headers, allowed) => {
    const { cookie, ask } = await stage.signIn(account);
    const keys = async (): Promise<number> => (await ask('GET', `${PG}/authentication`)).body.total;
    const all = { ...headers, cookie };
    expect((await stage.call('GET', SESSION, { headers: all })).status, 'reading').toBe(200);
    const before = await keys();
    const unsafe = {
      POST: await stage.call('POST', `${PG}/authentication`, { headers: all, body: { name: 'made' } }),
      PUT: await stage.call('PUT', `${PG}/account/security`, {
        headers: all,
        body: { ipAllowList: [], enforced: false },
      }),
      'sign in': await stage.call('POST', SESSION, { headers, body: account }),
      DELETE: await stage.call('DELETE', SESSION, { headers: all }),
    };
    for (const [what, { status, body }] of Object.entries(unsafe)) {
      expect(status < 300, `${what} ${status} ${JSON.stringify(body)}`).toBe(allowed);
      if (!allowed) expect([what, status]).toEqual([what, 403]);
    }
    if (!allowed) expect(await keys(), 'nothing was changed').toBe(before);
  });

  test('cannot read anything: no answer has CORS headers', async () => {
    const { cookie } = await stage.signIn(account);
    const origin = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    for (const method of ['GET', 'POST'] as const) {
      const { headers } = await stage.call(method, SESSION, { headers: { cookie, ...origin } });
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  test('keys and passwords need no header: browsers do not send them on their own', async () => {
    const headers = { 'x-api-key': account.apiKey, 'sec-fetch-site': 'cross-site' };
    expect((await stage.call('POST', `${PG}/authentication`, { headers, body: {} })).status).toBe(201);
  });
});

test('401 has no challenge for sessions and pages of the console, which would open a dialog over them', async () => {
  const challenged = async (headers: Headers) =>
    'www-authenticate' in (await stage.call('GET', SESSION, { headers: { ...headers } })).headers;
  expect(await challenged({})).toBe(true);
  expect(await challenged({ authorization: 'Basic eDp5' })).toBe(true);
  expect(await challenged({ cookie: `__Host-heliograph=${'A'.repeat(43)}` })).toBe(false);
  expect(await challenged({ 'x-heliograph-console': '1' })).toBe(false);
});
