import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage, testAtNight } from './check-page.ts';
import { enter, openSite, type Site } from './harness.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

test('a user who is not signed in is asked to sign in and then reaches the requested page', async () => {
  const { page } = await site.window();
  await page.goto(site.url('/api-keys?limit=50'));
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await enter(page, site.owner);
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
  await expect.poll(() => page.url()).toBe(site.url('/api-keys?limit=50'));
});

test('a failed sign-in does not say whether the username or the password is wrong', async () => {
  const { page } = await site.window();
  await page.goto(site.url('/sign-in'));
  await enter(page, { ...site.owner, password: 'wrong' });
  await page.getByRole('alert').getByText('Incorrect username or password.').waitFor();
});

test('a `next` parameter with another site is ignored', async () => {
  const { page, context } = await site.window();
  for (const next of ['//example.com/', 'https://example.com/', '/\\example.com']) {
    await page.goto(site.url(`/sign-in?next=${encodeURIComponent(next)}`));
    await enter(page, site.owner);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await expect.poll(() => page.url()).toBe(site.url('/'));
    await context.clearCookies();
  }
});

test('signing out ends the session and hides its pages', async () => {
  const { page } = await site.signIn();
  await page.goto(site.url('/'));
  await page.getByRole('button', { name: /sign out/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.goto(site.url('/'));
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

test('the console uses the language of the browser and keeps another chosen one', async () => {
  const { page } = await site.signIn(site.owner, { locale: 'en-GB' });
  await page.goto(site.url('/'));
  await page.getByRole('button', { name: /sign out/ }).click();
  await page.getByRole('menuitemradio', { name: 'Italiano' }).click();
  await page.getByRole('heading', { name: 'Panoramica' }).waitFor();
  await expect.poll(() => page.locator('html').getAttribute('lang')).toBe('it');
  await page.reload();
  await page.getByRole('heading', { name: 'Panoramica' }).waitFor();
});

testAtNight('the sign-in page and the overview are accessible and no wider than the window', async () => {
  const out = await site.window();
  await out.page.goto(site.url('/sign-in'));
  await out.page.getByRole('button', { name: 'Sign in' }).waitFor();
  // Without a session, the request for it gets a 401.
  out.watch.expect('401');
  await checkPage(out, 'sign-in');
  const window = await site.signIn();
  await window.page.goto(site.url('/'));
  await window.page.getByText('Available credit').waitFor();
  await checkPage(window, 'overview');
});
