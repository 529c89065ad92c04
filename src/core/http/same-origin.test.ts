import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { PG } from '../../../test/support/http/routes.ts';
import { type Headers, HOST, OWN_PAGES, openSessionStage, SESSION } from '../../../test/support/http/session-stage.ts';
import type { NewAccount } from '../../operate/account-commands.ts';

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
    ['a form of our origin, without the header', { 'sec-fetch-site': 'same-origin', ...own }, false],
    ['a script of another site', { ...console1, 'sec-fetch-site': 'cross-site' }, false],
    ['a neighbour on this site', { ...console1, 'sec-fetch-site': 'same-site' }, false],
    ['a person who typed it', { ...console1, 'sec-fetch-site': 'none' }, false],
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

  test('cannot read anything: no response has CORS headers', async () => {
    const { cookie } = await stage.signIn(account);
    const origin = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    for (const method of ['GET', 'POST'] as const) {
      const { headers } = await stage.call(method, SESSION, { headers: { cookie, ...origin } });
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });
});

describe('a request without a session that may change something', () => {
  const own = { origin: `https://${HOST}` };
  test.each<[string, Headers, number]>([
    ['a program, which sends neither header', {}, 201],
    ['a program that uses the fetch of Node', { 'sec-fetch-mode': 'cors' }, 201],
    ['our own page', { 'sec-fetch-site': 'same-origin', ...own }, 201],
    ['our own page in a browser that names its origin only', own, 201],
    ['a person, in the browser itself', { 'sec-fetch-site': 'none' }, 201],
    ['a page of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 403],
    ['a neighbour on this site', { 'sec-fetch-site': 'same-site', origin: `https://other.${HOST}` }, 403],
    ['an undefined relation', { 'sec-fetch-site': 'new' }, 403],
    ['a page whose browser names its origin only', { origin: 'https://evil.example' }, 403],
    ['a page of our host by plain HTTP', { origin: `http://${HOST}` }, 403],
    ['a page on another port of our host', { origin: `https://${HOST}:8443` }, 403],
    ['a page without an origin', { origin: 'null' }, 403],
  ])('from %s, by key and by password', async (_who, headers, status) => {
    const basic = Buffer.from(`${account.username}:${account.password}`).toString('base64');
    const credentials: readonly Headers[] = [{ 'x-api-key': account.apiKey }, { authorization: `Basic ${basic}` }];
    const keys = async (): Promise<number> =>
      (await stage.call('GET', `${PG}/authentication`, { headers: { ...headers, 'x-api-key': account.apiKey } })).body
        .total;
    const before = await keys();
    for (const known of credentials) {
      const answer = await stage.call('POST', `${PG}/authentication`, { headers: { ...headers, ...known }, body: {} });
      expect(answer.status).toBe(status);
      if (status === 403)
        expect(answer.body).toMatchObject({ error: 'Forbidden', message: expect.stringContaining('another origin') });
    }
    expect(await keys()).toBe(before + (status === 201 ? 2 : 0));
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)(
    'from a page of another site is refused before anything else is checked: %s',
    async (method) => {
      const headers = { 'sec-fetch-site': 'cross-site' };
      expect((await stage.call(method, SESSION, { headers })).status).toBe(403);
      expect((await stage.call('GET', SESSION, { headers })).status).toBe(401);
    },
  );
});

describe('401', () => {
  const challenged = async (headers: Headers) =>
    'www-authenticate' in (await stage.call('GET', SESSION, { headers })).headers;

  test('challenges programs', async () => {
    expect(await challenged({})).toBe(true);
    expect(await challenged({ authorization: 'Basic eDp5' })).toBe(true);
    expect(await challenged({ accept: '*/*', 'sec-fetch-mode': 'cors' })).toBe(true);
  });

  test.each<[string, Headers]>([
    ['a session', { cookie: `__Host-heliograph=${'A'.repeat(43)}` }],
    ['a page of the console', { 'x-heliograph-console': '1' }],
    ['a navigation', { 'sec-fetch-mode': 'navigate' }],
    ['a request of any page', { 'sec-fetch-site': 'cross-site' }],
    ['a picture in a page', { 'sec-fetch-dest': 'image' }],
    ['a navigation of an old browser', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }],
  ])('has no challenge for %s, so no browser asks for a password and keeps it', async (_what, headers) => {
    expect(await challenged(headers)).toBe(false);
  });
});
