import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { takeShot } from './check-page.ts';
import { enter, openSite, type Site } from './harness.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

test('an operator switches to another account, sees a banner on every page, and switches back', async () => {
  const { page, watch } = await site.signIn(await site.operator());
  await page.goto(site.url('/'));
  await page.getByRole('button', { name: /sign out/ }).click();
  await page.getByRole('menuitem', { name: 'Switch account' }).click();
  await page.getByRole('button', { name: 'Switch to Acme' }).click();
  const banner = page.getByRole('status').filter({ hasText: 'You are working in the account “Acme”' });
  await banner.waitFor();
  await page.goto(site.url('/api-keys'));
  await page.getByText('first key').waitFor();
  await banner.getByRole('button', { name: 'Back to my account' }).click();
  await banner.waitFor({ state: 'detached' });
  await page.getByRole('banner').getByText('Operations').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('other users are not offered to switch the account', async () => {
  const { page } = await site.signIn();
  await page.goto(site.url('/'));
  await page.getByRole('button', { name: /sign out/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
  expect(await page.getByRole('menuitem', { name: 'Switch account' }).count()).toBe(0);
});

test('when a session ends while a page is open, the user signs in and returns to it', async () => {
  const { page, context, watch } = await site.signIn();
  await page.goto(site.url('/api-keys'));
  await page.getByText('first key').waitFor();
  await context.clearCookies();
  watch.expect('401');
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  await enter(page, site.owner);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a failure shows the error with the request ID, and a retry recovers from it', async () => {
  const { page, watch } = await site.signIn();
  let isBroken = true;
  await page.route('**/v1/authentication?*', (route) => {
    const body = JSON.stringify({ status: 500, error: 'Internal Server Error', message: 'Internal error' });
    const headers = { 'x-request-id': 'the-request', 'content-type': 'application/json' };
    return isBroken ? route.fulfill({ status: 500, headers, body }) : route.continue();
  });
  watch.expect('500');
  await page.goto(site.url('/api-keys'));
  await page.getByRole('alert').getByText('the-request').waitFor();
  isBroken = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('first key').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('on a phone, the navigation opens over the page and closes after a choice', async () => {
  const { page } = await site.signIn(site.owner, { width: 390, height: 844 });
  await page.goto(site.url('/'));
  const link = page.getByRole('link', { name: 'Developers' });
  await page.getByRole('button', { name: 'Open navigation' }).waitFor();
  await link.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Open navigation' }).click();
  await link.click();
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
  await link.waitFor({ state: 'hidden' });
});

/**
 * Returns true if a navigation link is fully visible in a window of 800 pixels: below the header and above the lower
 * edge.
 */
const isWhole = async (page: Page, name: string): Promise<boolean> => {
  const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true });
  const box = await link.boundingBox();
  return box !== null && box.y >= 56 && box.y + box.height <= 800;
};

test('on a laptop, the navigation of an account fits without scrolling', async () => {
  const { page } = await site.signIn(site.owner, { width: 1280, height: 800 });
  await page.goto(site.url('/'));
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  for (const name of ['Overview', 'Contacts', 'Settings'])
    await expect.poll(() => isWhole(page, name), { message: name }).toBe(true);
});

test('operators switch between their account and the gateway, each with few entries, and tabs lead to the rest', async () => {
  const { page, watch } = await site.signIn(await site.operator(), { width: 1280, height: 800 });
  const navigation = page.getByRole('navigation', { name: 'Main' });
  const entries = (workspace: string) => navigation.getByRole('list', { name: workspace }).getByRole('link');
  await page.goto(site.url('/operator/queues'));
  await page.getByRole('heading', { name: 'Queues' }).waitFor();
  expect(await entries('Gateway').allTextContents()).toEqual([
    'Status',
    'Carriers',
    'Accounts & prices',
    'Gateway log',
  ]);
  await page.getByRole('navigation', { name: 'Status' }).getByRole('link', { name: 'System health' }).click();
  await page.getByRole('heading', { name: 'System health' }).waitFor();
  await takeShot(page, 'shell-operator-1280-light', { fullPage: false });
  await navigation.getByRole('link', { name: 'This account' }).click();
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  expect(await entries('This account').count()).toBe(8);
  await page.emulateMedia({ colorScheme: 'dark' });
  await takeShot(page, 'shell-operator-1280-dark', { fullPage: false });
  expect(watch.problems()).toEqual([]);
});

test('keyboard users can skip the navigation, and navigating focuses the heading', async () => {
  const { page } = await site.signIn();
  await page.goto(site.url('/'));
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.keyboard.press('Tab');
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
  await page.getByRole('link', { name: 'Developers' }).press('Enter');
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1');
  await expect.poll(() => page.title()).toBe('API keys · Heliograph');
});

test('an unknown URL shows a message and a link back', async () => {
  const { page } = await site.signIn();
  await page.goto(site.url('/nowhere'));
  await page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Go to overview' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

test('markup written by a script and scripts from other origins are blocked', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/'));
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  watch.expect(/Markup is refused|Content Security Policy|TrustedScriptURL|failed:|foreign:/);
  const wroteMarkup = await page.evaluate(
    '(() => { try { document.body.appendChild(document.createElement("div")).innerHTML = "<img src=x onerror=alert(1)>"; return true } catch { return false } })()',
  );
  expect(wroteMarkup).toBe(false);
  const ranForeign = await page.evaluate(
    '(() => { try { const made = document.createElement("script"); made.src = "https://example.com/x.js"; document.head.append(made); return true } catch { return false } })()',
  );
  expect(ranForeign).toBe(false);
  expect(watch.problems()).toEqual([]);
});
