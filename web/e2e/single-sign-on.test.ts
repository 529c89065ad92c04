import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exec, sql } from '../../src/core/db/query.ts';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { freePort } from '../../test/support/http/free-port.ts';
import { type NameServer, startNameServer } from '../../test/support/http/name-server.ts';
import { CLIENT, startProvider, type TestProvider } from '../../test/support/oidc/provider.ts';
import { settingsFor } from '../../test/support/oidc/stage.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import type { Window } from './windows.ts';

let site: Site;
let provider: TestProvider;
let nameServer: NameServer;
const texts = new Map<string, readonly string[]>();
beforeAll(async () => {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  provider = await startProvider();
  nameServer = await startNameServer(
    () => [],
    (name) => texts.get(name) ?? [],
  );
  const caFile = join(await temporaryFolder('heliograph-ca-'), 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  site = await openSite({
    environment: {
      PORT: String(port),
      PUBLIC_URL: publicUrl,
      WEBHOOK_ALLOW_CIDRS: '127.0.0.1',
      SINGLE_SIGN_ON_PORTS: `443,${provider.port}`,
      WEBHOOK_CA_FILE: caFile,
      DNS_SERVERS: nameServer.address,
    },
  });
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
  await nameServer[Symbol.asyncDispose]();
});

/** Lets a window visit the provider, whose certificate is one for tests. */
async function trustProvider({ context, page, watch }: Pick<Window, 'context' | 'page' | 'watch'>): Promise<void> {
  const session = await context.newCDPSession(page);
  await session.send('Security.setIgnoreCertificateErrors', { ignore: true });
  watch.expect(`foreign: ${provider.issuer}`);
}

test('an admin sets single sign-on up, tries it, and people sign in with their company', async () => {
  const window = await site.signIn();
  await trustProvider(window);
  const { page } = window;
  await page.goto(site.url('/security'));
  await page.getByRole('link', { name: 'Single sign-on' }).click();
  await page.getByRole('heading', { name: 'Single sign-on', level: 1 }).waitFor();
  provider.register(await page.getByText('/oauth/single-sign-on/callback/').innerText());
  window.watch.expect('400');
  await page.getByLabel('Issuer').fill('http://169.254.169.254');
  await page.getByLabel('Client ID').fill(CLIENT.id);
  await page.getByLabel('Short name').fill('acme');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('must be a URL with https', { exact: false }).first().waitFor();
  await expect.poll(() => page.getByLabel('Issuer').evaluate((field) => field.matches(':focus'))).toBe(true);
  await page.getByLabel('Issuer').fill(provider.issuer);
  await page.getByLabel('Client ID').fill(CLIENT.id);
  await page.getByLabel('Client secret').fill(CLIENT.secret);
  await page.getByLabel('Short name').fill('acme');
  await page.getByLabel('Mail domains', { exact: true }).first().fill('example.com');
  await page.keyboard.press('Enter');
  await page.getByLabel('Claim with the groups').fill('groups');
  await page.getByRole('button', { name: 'Add group' }).click();
  await page.getByLabel('Group 1', { exact: true }).fill('staff');
  // An account that maps groups lets no other users in, unless it chooses so.
  await expect
    .poll(() => page.getByRole('combobox', { name: 'Role without a group' }).inputValue())
    .toBe('Refuse the sign-in');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('These settings have not been tried yet.').waitFor();

  provider.person = { sub: 'anna', email: 'anna@example.com', email_verified: true, groups: ['staff'] };
  await page.getByRole('button', { name: 'Try it' }).click();
  await page.getByText('Works', { exact: true }).waitFor();
  await page.getByText('anna@example.com').waitFor();
  await checkPage(window, 'single-sign-on');

  await page.getByRole('switch', { name: 'People may sign in with the provider' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Single sign-on saved').waitFor();

  window.watch.expect('409');
  const proof = page.getByRole('group', { name: 'example.com' });
  await proof.getByText('Not proven').waitFor();
  await proof.getByRole('button', { name: 'Verify example.com' }).click();
  await page.getByText('has no TXT record with this value', { exact: false }).waitFor();
  const value = await proof.getByText('heliograph-domain-verification=').innerText();
  texts.set('_heliograph-challenge.example.com', [value]);
  await page.getByLabel('Client ID').fill('typed, and not saved');
  await proof.getByRole('button', { name: 'Verify example.com' }).click();
  await proof.getByText('Proven', { exact: true }).waitFor();
  expect(await page.getByLabel('Client ID').inputValue()).toBe('typed, and not saved');

  const anna = await site.window();
  await trustProvider(anna);
  await anna.page.goto(site.url('/sign-in?next=/messages'));
  await anna.page.getByRole('button', { name: 'Sign in with your company' }).click();
  await anna.page.getByLabel('Company').fill('anna@example.com');
  await anna.page.getByRole('button', { name: 'Continue to your company' }).click();
  await anna.page.getByRole('heading', { name: 'Messages', level: 1 }).waitFor();
  await expect.poll(() => anna.page.url()).toBe(site.url('/messages'));
  await anna.page.getByRole('button', { name: /anna@example.com/ }).waitFor();
});

test('a fault that belongs to no single field moves the focus to the message', async () => {
  const { page, watch } = await site.signIn(await site.operator());
  watch.expect('400');
  await page.goto(site.url('/security/single-sign-on'));
  await page.getByLabel('Issuer').fill(provider.issuer);
  await page.getByLabel('Client ID').fill(CLIENT.id);
  await page.getByLabel('Short name').fill('operations');
  await page.getByRole('combobox', { name: 'Role without a group' }).click();
  await page.getByRole('option', { name: 'Refuse the sign-in' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  const alert = page.getByRole('alert').filter({ hasText: 'are needed without a default role' });
  await expect.poll(() => alert.evaluate((message) => message.matches(':focus'))).toBe(true);
  expect(watch.problems()).toEqual([]);
});

test('a person who cancels at the company learns that on the sign-in page', async () => {
  const window = await site.window();
  await trustProvider(window);
  const { page, watch } = window;
  await page.goto(site.url('/sign-in'));
  await page.getByRole('button', { name: 'Sign in with your company' }).click();
  provider.person = null;
  await page.getByLabel('Company').fill('acme');
  await page.getByRole('button', { name: 'Continue to your company' }).click();
  await page.getByRole('alert').getByText('You were not signed in').waitFor();
  await page.getByRole('button', { name: 'Sign in with your company' }).click();
  watch.expect('404');
  await page.getByLabel('Company').fill('nobody');
  await page.getByRole('button', { name: 'Continue to your company' }).click();
  await page.getByText('No company with this name uses single sign-on here.').waitFor();
  await checkPage(window, 'sign-in-company');
});

describe('a person without a password here', () => {
  const person = { sub: 'berta', email: 'berta@example.com', email_verified: true, groups: ['admins'] };

  /** Signs the person in with the company, begins a new key there, and lets eleven minutes pass. */
  async function atNewKey(): Promise<Window> {
    const settings = { ...settingsFor(provider.issuer), groupRoles: [{ group: 'admins', role: 'admin' }] };
    const answer = await fetch(site.url('/api/partner-gateway/v1/account/single-sign-on'), {
      method: 'PUT',
      headers: { 'x-api-key': site.program.account.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(settings),
    });
    expect(answer.status).toBe(200);
    provider.person = person;
    const window = await site.window();
    await trustProvider(window);
    const { page, watch } = window;
    watch.expect('403');
    await page.goto(site.url('/sign-in?next=/api-keys'));
    await page.getByRole('button', { name: 'Sign in with your company' }).click();
    await page.getByLabel('Company').fill('acme');
    await page.getByRole('button', { name: 'Continue to your company' }).click();
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Typed before');
    await exec(site.program.pool, sql`UPDATE user_session SET proven_at = now() - interval '11 minutes'`);
    await page.getByRole('button', { name: 'Create API key' }).click();
    return window;
  }

  const dialogOf = ({ page }: Window) => page.getByRole('dialog', { name: 'Confirm your identity' });
  const confirm = (window: Window) => dialogOf(window).getByRole('button', { name: 'Confirm with your company' });

  /** Opens the window of the company; it goes there only once it trusts its certificate. */
  async function openCompany(window: Window): Promise<Page> {
    const { context, page } = window;
    const trusted = Promise.withResolvers<void>();
    await page.route('**/step-up/single-sign-on', async (route) => {
      await trusted.promise;
      await route.continue();
    });
    const [popup] = await Promise.all([context.waitForEvent('page'), confirm(window).click()]);
    await trustProvider({ ...window, page: popup });
    trusted.resolve();
    return popup;
  }

  test('confirms with the company in a window that closes itself, and what was typed stays', async () => {
    const window = await atNewKey();
    const { page, watch } = window;
    await confirm(window).waitFor();
    await checkPage(window, 'step-up-company');
    const popup = await openCompany(window);
    await page.getByRole('button', { name: 'I’ve copied it' }).click();
    await page.getByRole('row', { name: /Typed before/ }).waitFor();
    await expect.poll(() => popup.isClosed()).toBe(true);
    expect(watch.problems()).toEqual([]);
  });

  test('a user who is another person at the company sees that in both windows, and can try again', async () => {
    const window = await atNewKey();
    provider.person = { ...person, sub: 'carla', email: 'carla@example.com' };
    const popup = await openCompany(window);
    const text = 'You signed in to your company as another user';
    await popup.getByRole('alert').getByText(text).waitFor();
    await dialogOf(window).getByRole('alert').getByText(text).waitFor();
    await checkPage({ page: popup, watch: window.watch }, 'confirmed-problem');
    provider.person = person;
    await window.page.unroute('**/step-up/single-sign-on');
    await openCompany(window);
    await window.page.getByRole('button', { name: 'I’ve copied it' }).click();
    await window.page
      .getByRole('row', { name: /Typed before/ })
      .first()
      .waitFor();
  });

  test('opens a new tab where the browser blocks the window', async () => {
    const window = await atNewKey();
    const { context, page } = window;
    await page.evaluate('window.open = () => null');
    await confirm(window).click();
    const link = dialogOf(window).getByRole('link', { name: 'Sign in to your company in a new tab' });
    await context.route(`${provider.issuer}/**`, (route) => route.abort());
    const [tab] = await Promise.all([context.waitForEvent('page'), link.click()]);
    await context.unroute(`${provider.issuer}/**`);
    await trustProvider({ ...window, page: tab });
    await tab.goto((await link.getAttribute('href')) ?? '');
    await page.getByRole('button', { name: 'I’ve copied it' }).click();
  });
});
