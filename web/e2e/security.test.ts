import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage, testAtNight } from './check-page.ts';
import { enter, openSite, type Site } from './harness.ts';
import { textOf } from './text-of.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

test('ending a session elsewhere signs that browser out at its next request', async () => {
  const there = await site.signIn();
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/security'));
  await page.getByText('This session').waitFor();
  const other = page.getByRole('row', { name: /Linux/ }).filter({ hasNotText: 'This session' });
  await other
    .getByRole('button', { name: /^End session of/ })
    .first()
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
  await page.getByText(/^Session of .* ended$/).waitFor();
  there.watch.expect('401');
  await there.page.goto(site.url('/api-keys'));
  await there.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await enter(there.page, site.owner);
  await there.page.getByRole('heading', { name: 'API keys' }).waitFor();
  expect([...watch.problems(), ...there.watch.problems()]).toEqual([]);
});

test('all other sessions end at once, and the current one stays', async () => {
  const person = await site.person('viewer');
  const there = await site.signIn(person);
  const { page, watch } = await site.signIn(person);
  await page.goto(site.url('/security'));
  await page.getByRole('button', { name: 'End all other sessions' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End all other sessions' }).click();
  await page.getByText('1 session ended').waitFor();
  // The header and this session.
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  there.watch.expect('401');
  await there.page.goto(site.url('/contacts'));
  await there.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('an allowlist without the own address is rejected with a reason, and enforced once it includes the address', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/security?tab=addresses'));
  await page.getByRole('button', { name: 'Add range' }).click();
  watch.expect('400');
  await page.getByLabel('Address or range').fill('office');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('dialog').getByText('must be an IP address').waitFor();
  await page.getByLabel('Address or range').fill('203.0.113.77/24');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  // Stored in its canonical form.
  await page.getByRole('listitem').filter({ hasText: '203.0.113.0/24' }).waitFor();
  await page.getByRole('button', { name: 'Enforce allowlist' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Enforce allowlist' }).click();
  const guard = page.getByRole('dialog', { name: 'This would lock you out' });
  await guard.getByText(/127\.0\.0\.1, the address you are using/).waitFor();
  await guard.getByRole('button', { name: 'Block my address', disabled: true }).waitFor();
  await guard.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Not enforced').waitFor();

  await page.getByRole('button', { name: 'Add range' }).click();
  await page.getByRole('button', { name: 'Use my address: 127.0.0.1' }).click();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('Includes your address').waitFor();
  await page.getByRole('button', { name: 'Enforce allowlist' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Enforce allowlist' }).click();
  await page.getByText('Enforced: other addresses are blocked').waitFor();

  await page.getByRole('button', { name: 'Remove 127.0.0.1/32' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await guard.waitFor();
  await page.keyboard.press('Escape');
  await guard.waitFor({ state: 'hidden' });
  await page.getByRole('listitem').filter({ hasText: '127.0.0.1/32' }).waitFor();
  await page.getByRole('button', { name: 'Stop enforcing' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop enforcing' }).click();
  await page.getByText('Not enforced').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('the audit log names who changed what, and its filters are kept in the URL', async () => {
  const changed = await fetch(site.url('/api/partner-gateway/v1/account/security'), {
    method: 'PUT',
    headers: { 'x-api-key': site.program.account.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ ipAllowList: ['203.0.113.0/24', '198.51.100.7'], enforced: false }),
  });
  expect(changed.status).toBe(200);
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/security?tab=audit'));
  const row = page.getByRole('row', { name: /IP allowlist changed/ }).first();
  await row.getByText('203.0.113.0/24 and 198.51.100.7/32').waitFor();
  await page.getByLabel('All actions').selectOption({ label: 'API key created' });
  await expect.poll(() => page.url()).toContain('action=api-key.create');
  await row.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Details: API key created' }).first().click();
  const panel = page.getByRole('dialog', { name: 'API key created' });
  await panel.getByText('Permissions').waitFor();
  expect(await textOf(panel)).not.toContain('WHATSAPP');
  await checkPage(window, 'security-audit-entry');
  await page.keyboard.press('Escape');
  await page.getByLabel('To', { exact: true }).fill('2020-01-01');
  await page.getByText('No entries').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await row.waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a viewer sees their own sessions, and why the other tabs are disabled', async () => {
  const { page, watch } = await site.signIn(await site.person('viewer'));
  await page.goto(site.url('/security?tab=audit'));
  await page.getByText('This session').waitFor();
  const tab = page.getByRole('tab', { name: 'Audit log' });
  await tab.hover();
  await page.getByRole('tooltip').getByText('Only administrators can do this.').waitFor();
  await page.getByRole('tab', { name: 'Audit log', disabled: true }).waitFor();
  expect(await page.getByLabel('My sessions').count()).toBe(0);
  expect(watch.problems()).toEqual([]);
});

testAtNight('the tabs are accessible and no wider than the window', async () => {
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/security?whose=all'));
  await page.getByText('This session').waitFor();
  await checkPage(window, 'security-sessions');
  await page.setViewportSize({ width: 1280, height: 800 });
  const isCut = (text: Element): boolean => text.scrollWidth > text.clientWidth;
  expect(await page.getByText('This session').evaluate(isCut)).toBe(false);
  await page.goto(site.url('/security?tab=addresses'));
  await page.getByText('Your address', { exact: true }).waitFor();
  await checkPage(window, 'security-addresses');
  await page.goto(site.url('/security?tab=audit'));
  await page.getByText('API key created').last().waitFor();
  await checkPage(window, 'security-audit');
});
