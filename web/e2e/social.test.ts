import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { exec, sql } from '../../src/core/db/query.ts';
import { freePort } from '../../test/support/http/free-port.ts';
import { type OauthServer, startOauthServer } from '../../test/support/oauth/server.ts';
import { checkPage, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import type { Window } from './windows.ts';

let networks: OauthServer;

let site: Site;
beforeAll(async () => {
  networks = await startOauthServer();
  // TikTok is not configured, so that the missing settings are shown. The sandbox takes no part: its networks have a test
  // of their own below.
  const { TIKTOK_CLIENT_ID: _, ...environment } = networks.environment;
  site = await openSite({ environment });
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await networks[Symbol.asyncDispose]();
});
beforeEach(() => exec(site.program.pool, sql`TRUNCATE social_profile, social_state`));

const card = (page: Page, network: string) => page.getByRole('region', { name: network, exact: true });

async function openProfiles() {
  const window = await site.signIn();
  await window.page.goto(site.url('/social'));
  await card(window.page, 'Facebook').waitFor();
  return window;
}

/** The user confirms at the network, which redirects the browser back. */
async function agree(context: BrowserContext, authorizeUrl: string): Promise<void> {
  const back = await networks.visit(authorizeUrl);
  const tab = await context.newPage();
  await tab.goto(site.url(`${back?.pathname}${back?.search}`));
  await tab.getByText('is connected. You can close this window.').waitFor();
  await tab.getByRole('link', { name: 'Back to the console' }).click();
  await tab.getByRole('heading', { name: 'Social profiles' }).waitFor();
  await tab.close();
}

async function connectFacebook({ page, context }: { page: Page; context: BrowserContext }): Promise<void> {
  const opened = context.waitForEvent('page');
  await page.getByRole('button', { name: 'Connect Facebook' }).click();
  await (await opened).close();
  const link = card(page, 'Facebook').getByRole('link', { name: 'Open the tab again' });
  await agree(context, (await link.getAttribute('href')) ?? '');
  await page.getByText('Facebook connected').waitFor();
}

test('a profile is connected at the network, shown without a reload, and disconnected', async () => {
  const window = await openProfiles();
  const { page, watch } = window;
  await connectFacebook(window);
  const facebook = card(page, 'Facebook');
  await facebook.getByText('Ada Acme').waitFor();
  await facebook.getByText('Connected', { exact: true }).first().waitFor();
  await facebook.getByRole('button', { name: '3 pages and locations' }).click();
  const panel = page.getByRole('dialog', { name: 'Linked to Facebook' });
  await expect.poll(() => panel.getByRole('listitem').count()).toBe(3);
  await page.keyboard.press('Escape');
  await facebook.getByRole('button', { name: 'Disconnect Facebook' }).click();
  await page
    .getByRole('dialog', { name: 'Disconnect Facebook?' })
    .getByRole('button', { name: 'Disconnect', exact: true })
    .click();
  await facebook.getByText('Not connected').waitFor();
  await expect.poll(() => networks.validTokens('facebook')).toEqual([]);
  expect(watch.problems()).toEqual([]);
});

test('missing configuration is named', async () => {
  const { page, watch } = await openProfiles();
  watch.expect('502');
  await page.getByRole('button', { name: 'Connect TikTok' }).click();
  const tiktok = card(page, 'TikTok');
  await tiktok.getByRole('alert').getByText('TIKTOK_CLIENT_ID', { exact: true }).waitFor();
  expect(await tiktok.getByText('TIKTOK_CLIENT_SECRET').count()).toBe(0);
  expect(watch.problems()).toEqual([]);
});

test('a profile that the network no longer renews is shown as disconnected and can be reconnected', async () => {
  const window = await openProfiles();
  const { page, context } = window;
  await connectFacebook(window);
  await exec(
    site.program.pool,
    sql`UPDATE social_profile SET disconnected = 'taken back', linked_fault = 'Quota exceeded (429)'`,
  );
  await page.reload();
  await card(page, 'Facebook').getByText('Disconnected', { exact: true }).waitFor();
  await card(page, 'Facebook').getByText('Quota exceeded (429)').waitFor();
  const opened = context.waitForEvent('page');
  await page.getByRole('button', { name: 'Reconnect Facebook' }).click();
  await (await opened).close();
  const link = card(page, 'Facebook').getByRole('link', { name: 'Open the tab again' });
  await agree(context, (await link.getAttribute('href')) ?? '');
  await card(page, 'Facebook').getByText('Connected', { exact: true }).first().waitFor();
  await card(page, 'Facebook').getByText('Disconnected', { exact: true }).waitFor({ state: 'detached' });
});

test('users who may only read see the profiles, and why they cannot change them', async () => {
  const { page } = await site.signIn(await site.person('viewer'));
  await page.goto(site.url('/social'));
  await page.getByRole('button', { name: 'Connect Google' }).focus();
  await page.getByRole('tooltip').getByText('Your role is read-only here.').waitFor();
});

testAtNight('the page and its dialog are accessible and no wider than the window', async () => {
  const window = await openProfiles();
  const { page, watch } = window;
  await connectFacebook(window);
  watch.expect('502');
  await page.getByRole('button', { name: 'Connect TikTok' }).click();
  await card(page, 'TikTok').getByRole('alert').waitFor();
  await checkPage(window, 'social');
  await page.getByRole('button', { name: '3 pages and locations' }).click();
  await page.getByRole('dialog').getByRole('listitem').first().waitFor();
  await checkPage(window, 'social-linked');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Disconnect Facebook' }).click();
  await page.getByRole('button', { name: 'Disconnect', exact: true }).waitFor();
  await checkPage(window, 'social-disconnect');
});

describe('in the sandbox', () => {
  let sandbox: Site;
  beforeAll(async () => {
    // The pages of the sandbox are where PUBLIC_URL says.
    sandbox = await openSite({ environment: { PORT: String(await freePort()) } });
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  /** Opens the profiles and connects one, up to the consent page of the network in its own tab. */
  async function openConsent(window: Window, network: string): Promise<Page> {
    const opened = window.context.waitForEvent('page');
    await window.page.getByRole('button', { name: `Connect ${network}` }).click();
    const tab = await opened;
    await tab.getByRole('heading', { name: `${network} (sandbox)` }).waitFor();
    return tab;
  }

  test('Connect leads to a consent page that says what it is, and granting connects the profile', async () => {
    const window = await sandbox.signIn();
    const { page, watch } = window;
    await page.goto(sandbox.url('/social'));
    const tab = await openConsent(window, 'Google');
    await tab.getByText('This is not Google.').waitFor();
    await tab.getByLabel('Locations').selectOption('1');
    await tab.getByRole('button', { name: 'Grant access' }).click();
    await tab.getByText('Google is connected. You can close this window.').waitFor();
    const google = card(page, 'Google');
    await google.getByText('Sandbox', { exact: true }).waitFor();
    await google.getByRole('button', { name: '1 page or location' }).waitFor();
    await expect
      .poll(() => google.locator('img').evaluate((img: HTMLImageElement) => img.complete && img.naturalWidth > 0))
      .toBe(true);
    await google.getByRole('button', { name: 'Disconnect Google' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect', exact: true }).click();
    await google.getByText('Not connected').waitFor();
    expect(watch.problems()).toEqual([]);
  });

  test('refusing, granting too little, and an app that is not approved are explained', async () => {
    const window = await sandbox.signIn();
    await window.page.goto(sandbox.url('/social'));
    const refused = await openConsent(window, 'LinkedIn');
    await refused.getByRole('button', { name: 'Refuse', exact: true }).click();
    await refused.getByText('Access was denied at LinkedIn.').waitFor();
    await refused.close();
    const partial = await openConsent(window, 'Instagram');
    await partial.getByLabel('instagram_business_basic').uncheck();
    await partial.getByRole('button', { name: 'Grant access' }).click();
    await partial.getByText('Instagram did not grant instagram_business_basic.').waitFor();
    await partial.close();
    const unapproved = await openConsent(window, 'TikTok');
    await unapproved.getByRole('button', { name: 'Refuse the app' }).click();
    await unapproved.getByText('Scope "user.info.basic" is not authorized for your application').waitFor();
    await unapproved.getByText('TIKTOK_SCOPES').waitFor();
  });
});
