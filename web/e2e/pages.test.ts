import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSite, type Site } from './harness.ts';
import { keyboardFaults, OF_ACCOUNT, OF_OPERATOR, textFaults, walk } from './pages.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

test('every page opens without an error, is reached by keyboard, and lacks no text', async () => {
  expect(OF_ACCOUNT.length).toBeGreaterThan(10);
  expect(OF_OPERATOR.length).toBeGreaterThan(3);
  const window = await site.signIn(await site.operator());
  expect(await walk(site, window, [...OF_ACCOUNT, ...OF_OPERATOR], [textFaults, keyboardFaults])).toEqual([]);
});

test('when the API returns 503 to everything, each page shows the error with the request ID', async () => {
  const { page, watch } = await site.signIn();
  watch.expect('503');
  const body = JSON.stringify({ status: 503, error: 'Service Unavailable', message: 'Try again later' });
  const headers = { 'x-request-id': 'the-request', 'content-type': 'application/json' };
  await page.route(
    (url) => url.pathname.startsWith('/api/') && !url.pathname.endsWith('/v1/session'),
    (route) => route.fulfill({ status: 503, headers, body }),
  );
  for (const path of ['/users', '/security', '/contacts', '/campaigns']) {
    await page.goto(site.url(path));
    await page.getByRole('alert').getByText('the-request').first().waitFor();
    await page.getByRole('button', { name: 'Try again' }).first().waitFor();
  }
  expect(watch.problems()).toEqual([]);
});
