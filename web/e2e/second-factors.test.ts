import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage } from './check-page.ts';
import { enter, openSite, type Person, type Site } from './harness.ts';
import { textOf } from './text-of.ts';
import type { Window } from './windows.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

const FACTORS = '/security?tab=factors';
/** Passkeys need a host name. */
const atLocalhost = (path: string): string => site.url(path).replace('127.0.0.1', 'localhost');

/** Gives the window a device that verifies its user and stores passkeys, without prompts. */
async function addDevice({ context, page }: Window): Promise<void> {
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/** Adds an authenticator app on the open page; returns it with the first recovery code. */
async function addApp(page: Page) {
  await page.getByRole('button', { name: 'Add authenticator app' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add an authenticator app' });
  const secret = await shownSecret(page);
  const app = new TOTP({ secret: Secret.fromBase32(secret) });
  await dialog.getByLabel('Code from the app').fill(app.generate());
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  const recoveryCode = await textOf(dialog.getByRole('listitem').first());
  // The codes are shown only once: nothing but their button closes the dialog.
  await page.keyboard.press('Escape');
  expect(await dialog.getByRole('button', { name: 'Close' }).count()).toBe(0);
  await dialog.getByRole('button', { name: 'I have saved them' }).click();
  await dialog.waitFor({ state: 'detached' });
  return { app, secret, recoveryCode };
}

async function shownSecret(page: Page): Promise<string> {
  const said = await textOf(page.getByRole('dialog').getByText(/Or enter this key in the app/));
  return /[A-Z2-7]{32}/.exec(said)?.[0] ?? '';
}

/** A code counts once, and the next one comes after up to 30 s: this allows the current one again. */
const forgetUsedCodes = () => site.program.pool.query('UPDATE totp_factor SET last_step = 0');
const elevenMinutesPass = () =>
  site.program.pool.query("UPDATE user_session SET proven_at = proven_at - interval '11 minutes'");
const endSessionsOf = ({ username }: Person) =>
  site.program.pool.query('DELETE FROM user_session s USING app_user u WHERE u.id = s.user_id AND u.username = $1', [
    username,
  ]);

test('an authenticator app is added, and from then on its codes or a recovery code are needed', async () => {
  const person = await site.person('viewer');
  const window = await site.signIn(person);
  await window.page.goto(site.url(FACTORS));
  await window.page.getByText('You have no second factor.', { exact: false }).waitFor();
  const { app, secret, recoveryCode } = await addApp(window.page);
  await window.page.getByText('10 codes left').waitFor();
  // Another app would have another secret.
  await window.page.getByRole('button', { name: 'Replace authenticator app' }).click();
  expect(await shownSecret(window.page)).toMatch(new RegExp(`^(?!${secret})[A-Z2-7]{32}$`));
  await window.page.keyboard.press('Escape');
  await window.page.getByRole('dialog').waitFor({ state: 'detached' });
  await checkPage(window, 'security-factors');

  const { page, watch } = await site.window();
  watch.expect('401');
  await page.goto(site.url('/'));
  await enter(page, person);
  await page.getByLabel('Code', { exact: true }).fill('000000');
  expect(await page.getByRole('link', { name: 'Forgotten password?' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('This code is wrong.', { exact: false }).waitFor();
  await forgetUsedCodes();
  await page.getByLabel('Code', { exact: true }).fill(app.generate());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await page.goto(site.url('/security'));
  await page.getByRole('row', { name: /Password and app/ }).waitFor();
  expect(watch.problems()).toEqual([]);

  const again = await site.window();
  again.watch.expect('401');
  await again.page.goto(site.url('/sign-in'));
  await enter(again.page, person);
  await again.page.getByLabel('Code', { exact: true }).fill(recoveryCode.toUpperCase());
  await again.page.getByRole('button', { name: 'Sign in' }).click();
  await again.page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(again.watch.problems()).toEqual([]);
});

test('a passkey is added, signs in without a password, and is removed again', async () => {
  const person = await site.person('manager');
  const window = await site.window();
  const { page, watch } = window;
  watch.expect('401');
  await addDevice(window);
  await page.goto(atLocalhost(FACTORS));
  await enter(page, person);
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.getByLabel('Name').fill('Laptop');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByRole('listitem').getByText('Laptop').waitFor();

  await page.getByRole('button', { name: /sign out/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await page.goto(atLocalhost(FACTORS));
  await page.getByText('last used').waitFor();
  await page.getByRole('button', { name: 'Remove Laptop' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('“Laptop” removed').waitFor();
  await page.getByText('You have no second factor.', { exact: false }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a passkey is the second factor after the password, and confirms a dangerous act', async () => {
  const person = await site.person('admin');
  const window = await site.window();
  const { page, watch } = window;
  watch.expect('401');
  watch.expect('403');
  await addDevice(window);
  await page.goto(atLocalhost(FACTORS));
  await enter(page, person);
  await page.getByRole('button', { name: 'Add passkey' }).click();
  await page.getByLabel('Name').fill('Laptop');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByRole('button', { name: /sign out/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();

  await enter(page, person);
  await page.getByText('Your password is right.', { exact: false }).waitFor();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();

  await elevenMinutesPass();
  await page.goto(atLocalhost(FACTORS));
  await page.getByRole('button', { name: 'New recovery codes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'New recovery codes' }).click();
  const confirming = page.getByRole('dialog', { name: 'Confirm your identity' });
  await confirming.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('Keep these codes safe').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'I have saved them' }).click();
  expect(watch.problems()).toEqual([]);
});

test('a dangerous act asks for the password over the page, and what was typed there stays', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  watch.expect('403');
  watch.expect('400');
  await page.goto(site.url('/api-keys'));
  await page.getByRole('button', { name: 'New API key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Typed before');
  await elevenMinutesPass();
  await page.getByRole('button', { name: 'Create API key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Confirm your identity' });
  await dialog.getByRole('textbox', { name: 'Password' }).fill('wrong');
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await dialog.getByText('This password is wrong.').waitFor();

  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Typed before');

  await page.getByRole('button', { name: 'Create API key' }).click();
  await dialog.getByRole('textbox', { name: 'Password' }).fill(site.owner.password);
  await checkPage(window, 'step-up');
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('button', { name: 'I’ve copied it' }).click();
  await page.getByRole('row', { name: /Typed before/ }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a session that ends while a user works asks for a sign-in over the page, and loses nothing', async () => {
  const person = await site.person('admin');
  const window = await site.signIn(person);
  const { page, watch } = window;
  watch.expect('401');
  await page.goto(site.url('/contacts'));
  await page.getByRole('button', { name: 'New contact' }).first().click();
  const form = page.getByRole('dialog', { name: 'New contact' });
  await form.getByLabel('Phone number').fill('+39 333 999 4242');
  await form.getByLabel('First name').fill('Kept');
  await endSessionsOf(person);
  await form.getByRole('button', { name: 'Add contact' }).click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await expect.poll(() => dialog.getByLabel('Username').inputValue()).toBe(person.username);
  await page.keyboard.press('Escape');
  await checkPage(window, 'sign-in-again');
  await enter(page, person);
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1, name: 'Kept' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('another user who signs in over the page gets a fresh one', async () => {
  const [first, second] = [await site.person('admin'), await site.person('viewer')];
  const { page, watch } = await site.signIn(first);
  watch.expect('401');
  await page.goto(site.url('/contacts'));
  const search = page.getByRole('searchbox').first();
  await search.waitFor();
  await endSessionsOf(first);
  // Its request opens the dialog. A click might come after that of another request, and then reach nothing below the dialog.
  await search.fill('nobody');
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  const loaded = page.waitForEvent('load');
  await enter(page, second);
  await loaded;
  await page.getByRole('button', { name: new RegExp(second.username) }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('who has to add a second factor sees nothing else until it is added', async () => {
  const admin = await site.operator();
  const { page, watch } = await site.signIn(admin);
  await page.goto(site.url(FACTORS));
  const requireIt = page.getByRole('button', { name: 'Require a second factor' });
  await requireIt.and(page.locator('[aria-disabled="true"]')).hover();
  await page.getByRole('tooltip').getByText('Add your own second factor first').waitFor();
  await addApp(page);
  await requireIt.and(page.locator(':not([aria-disabled])')).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Require a second factor' }).click();
  await page.getByText('Policy saved').waitFor();
  expect(watch.problems()).toEqual([]);

  const { rows } = await site.program.pool.query('SELECT account_id FROM app_user WHERE username = $1', [
    admin.username,
  ]);
  const late = await site.person('viewer');
  await site.program.pool.query('UPDATE app_user SET account_id = $1 WHERE username = $2', [
    rows[0].account_id,
    late.username,
  ]);
  const window = await site.signIn(late);
  window.watch.expect('403');
  await window.page.goto(site.url('/contacts'));
  await window.page.getByRole('heading', { name: 'Add a second factor' }).waitFor();
  await checkPage(window, 'enrol');
  await addApp(window.page);
  await window.page.getByRole('heading', { name: 'Contacts' }).waitFor();
  expect(window.watch.problems()).toEqual([]);
});
