import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { one, sql } from '../../src/core/db/query.ts';
import { CONTRAST, violations, WCAG } from './axe.ts';
import { takeShot } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import type { Window } from './windows.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

const banner = (page: Page, text: string | RegExp) => page.locator('[data-fault]').filter({ hasText: text });

/** Opens a page of the owner, whose requests are going to fail. */
async function open(path: string): Promise<Window> {
  const window = await site.signIn();
  window.watch.expect(/^failed: |^answer: 503|Failed to load resource/);
  await window.page.goto(site.url(path));
  await window.page.getByRole('heading', { level: 1 }).first().waitFor();
  return window;
}

/** Begins to create a list; the request leaves with the returned function. */
async function fillIn(page: Page, name: string): Promise<() => Promise<void>> {
  await page.getByRole('button', { name: 'New list' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New list' });
  await dialog.getByLabel('Name').fill(name);
  return () => dialog.getByRole('button', { name: 'Create list' }).click();
}

async function countLists(name: string): Promise<number> {
  const { accountId } = site.program.account;
  const { count } = await one<{ count: number }>(
    site.program.pool,
    sql`SELECT count(*)::int AS count FROM contact_list WHERE account_id = ${accountId} AND name = ${name}`,
  );
  return count;
}

/** Returns 503 for every request to the API, as during a change of the database's primary; returns how it ends. */
async function takeAway(context: BrowserContext): Promise<() => Promise<void>> {
  const body = JSON.stringify({ status: 503, error: 'Service Unavailable', message: 'Try again later' });
  await context.route('**/api/**', (route) =>
    route.fulfill({ status: 503, headers: { 'content-type': 'application/json' }, body }),
  );
  return () => context.unroute('**/api/**');
}

test('without a network a banner says so, a page that is opened waits, and it appears when the network is back', async () => {
  const { page, context, watch } = await open('/');
  await context.setOffline(true);
  await banner(page, 'No connection.').waitFor();
  await page.getByRole('link', { name: 'Templates & media' }).click();
  await page.waitForURL('**/account/templates');
  await takeShot(page, 'connection-offline-light', { fullPage: false });
  expect(await violations(page, WCAG)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await violations(page, CONTRAST)).toEqual([]);
  await takeShot(page, 'connection-offline-dark', { fullPage: false });
  expect(await page.getByText('Something went wrong').count()).toBe(0);
  await context.setOffline(false);
  await page.getByRole('heading', { name: 'Templates', exact: true }).waitFor();
  await banner(page, 'Connected again.').waitFor();
  await page.locator('[data-fault]').waitFor({ state: 'detached' });
  expect(watch.problems()).toEqual([]);
});

test('a change made without a network waits, says so, and is made once when the network is back', async () => {
  const { page, context } = await open('/lists');
  const submit = await fillIn(page, 'Offline');
  await context.setOffline(true);
  await banner(page, 'No connection.').waitFor();
  await submit();
  await banner(page, '1 change waits and is sent once').waitFor();
  expect(await countLists('Offline')).toBe(0);
  await context.setOffline(false);
  await page.getByRole('link', { name: 'Offline' }).waitFor();
  expect(await countLists('Offline')).toBe(1);
});

test('a new item whose response was lost is sent again with the same key, and created once', async () => {
  const { page, context } = await open('/lists');
  const submit = await fillIn(page, 'Lost response');
  const keys: (string | undefined)[] = [];
  await context.route('**/v1/contacts/list', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    keys.push(route.request().headers()['idempotency-key']);
    if (keys.length > 1) return route.continue();
    await route.fetch();
    return route.abort('connectionreset');
  });
  await submit();
  await page.getByRole('link', { name: 'Lost response' }).waitFor();
  await context.unroute('**/v1/contacts/list');
  expect(keys).toEqual([expect.any(String), keys[0]]);
  expect(await countLists('Lost response')).toBe(1);
});

test('a change without a key whose response was lost is not sent again, and the user is asked to check', async () => {
  const { page, context } = await open('/lists');
  const submit = await fillIn(page, 'Before');
  await submit();
  await page.getByRole('link', { name: 'Before' }).waitFor();
  let sent = 0;
  await context.route(/\/v1\/contacts\/list\/\d+$/, async (route) => {
    if (route.request().method() === 'GET') return route.continue();
    sent += 1;
    await route.fetch();
    return route.abort('connectionreset');
  });
  await page.getByRole('button', { name: 'Edit “Before”' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('After');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Check whether the change was made').waitFor();
  await context.unroute(/\/v1\/contacts\/list\/\d+$/);
  expect(sent).toBe(1);
});

test('while the server is busy a banner says so instead of an error, and the page loads by itself afterwards', async () => {
  const { page, context } = await open('/');
  const bringBack = await takeAway(context);
  await page.getByRole('link', { name: 'Contacts', exact: true }).click();
  await banner(page, 'The server cannot respond right now.').waitFor();
  await page.waitForURL('**/contacts');
  expect(await page.getByRole('alert').count()).toBe(0);
  await bringBack();
  await page.getByText('No contacts yet').waitFor();
  await banner(page, 'Connected again.').waitFor();
});

test('a page that is opened while the server is busy waits for it, and then shows the page', async () => {
  const window = await site.signIn();
  const { page, context, watch } = window;
  watch.expect(/^answer: 503|Failed to load resource/);
  const bringBack = await takeAway(context);
  await page.goto(site.url('/api-keys'));
  await banner(page, 'The server cannot respond right now.').waitFor();
  await bringBack();
  await page.getByText('first key').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('when the server takes longer than eight seconds to respond, a banner says so, also about a change', async () => {
  const { page, context } = await open('/lists');
  const submit = await fillIn(page, 'Slow');
  const answers: (() => void)[] = [];
  await context.route('**/v1/contacts/list', async (route) => {
    if (route.request().method() === 'POST') await new Promise<void>((resolve) => answers.push(resolve));
    return route.continue();
  });
  await submit();
  await banner(page, 'The server is slow to respond.').getByText('1 change is not confirmed yet.').waitFor();
  expect(answers).toHaveLength(1);
  for (const answer of answers) answer();
  await page.getByRole('link', { name: 'Slow' }).waitFor();
  await page.locator('[data-fault]').waitFor({ state: 'detached' });
  await context.unroute('**/v1/contacts/list');
  expect(await countLists('Slow')).toBe(1);
});
