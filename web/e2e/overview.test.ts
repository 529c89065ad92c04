import { afterAll, beforeAll, expect, test } from 'vitest';
import { exec, sql } from '../../src/core/db/query.ts';
import { topUp } from '../../src/money/credit.ts';
import { createAccount } from '../../src/operate/account-commands.ts';
import { pauseSending } from '../../src/operate/restore-guard.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

test('a new account sees its first steps', async () => {
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/'));
  await page.getByRole('heading', { name: 'Get started' }).waitFor();
  await page.getByText('1 of 5 steps done').waitFor();
  await page.locator('[data-step=key][data-done=true]').waitFor();
  await page.locator('[data-step=connection]').getByText('The operator of this gateway can fix this.').waitFor();
  await checkPage(window, 'overview-new');
  await page.getByRole('link', { name: 'Register a webhook' }).click();
  await page.waitForURL('**/webhooks');
});

test('delivered and failed messages are counted without a reload, and shown by channel', async () => {
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/'));
  await page.getByRole('heading', { name: 'Get started' }).waitFor();
  const numbers = Array.from({ length: 10 }, (_, n) => `+39333123450${n}`);
  await site.program.client.bulk({
    messages: [{ destinations: [...numbers, '+393331239901', '+393331249901'], sender: 'Acme', body: 'Hello' }],
  });
  await page.getByText('10 delivered, 0 in transit').waitFor();
  const figures = page.getByRole('table', { name: 'Results by channel' }).getByRole('row', { name: /^SMS/ });
  await expect.poll(() => figures.getByRole('cell').allTextContents()).toMatchObject({ 0: 'SMS', 2: '83.3%', 3: '2' });
  await page.locator('.recharts-surface').waitFor();
  await checkPage(window, 'overview');
});

test('the header shows the same credit as the figures when it changes', async () => {
  const { pool } = site.program;
  const owner = await createAccount(pool, { name: 'Shop', plan: 'production', creditMicros: 3_000_000 });
  const { page } = await site.signIn(owner);
  await page.goto(site.url('/'));
  const header = page.getByRole('banner');
  await header.getByText('€3.00').waitFor();
  await topUp(pool, { accountId: owner.accountId, micros: 25_000_000, reference: 'invoice 7' });
  await page.getByRole('main').getByText('€28.00', { exact: true }).waitFor();
  expect(await header.getByText('€28.00').count()).toBe(1);
});

test('the figures on the axes of charts stay whole while they grow', async () => {
  const { page } = await site.signIn();
  await page.goto(site.url('/'));
  const send = (start: number, count: number) => {
    const destinations = Array.from({ length: count }, (_, n) => `+39333223${String(start + n).padStart(4, '0')}`);
    return site.program.client.bulk({ messages: [{ destinations, sender: 'Acme', body: 'Hello' }] });
  };
  await send(0, 5);
  const labels = page.locator('.recharts-surface').locator('text');
  await labels.first().waitFor();
  await send(5, 1_200);
  await labels
    .getByText(/^\d,\d00$/)
    .first()
    .waitFor();
  // The highest label may have one digit more than the highest value: 10,000 above 9,000.
  const cut = await labels.evaluateAll((texts) =>
    texts
      .filter((text) => {
        const chart = text.closest('svg');
        const digit = text.getBoundingClientRect().width / text.textContent.length;
        return !chart || text.getBoundingClientRect().left - digit < chart.getBoundingClientRect().left;
      })
      .map((text) => text.textContent),
  );
  expect(cut).toEqual([]);
});

test('items that need attention are shown, to the operator with a link to resolve them', async () => {
  await pauseSending(site.program.pool, { by: 'operations', reason: 'the carrier asked for it' });
  const { page } = await site.signIn();
  await page.goto(site.url('/'));
  const entry = page.getByRole('listitem').filter({ hasText: 'Sending is paused for the whole gateway' });
  await entry.getByText('the carrier asked for it').waitFor();
  await entry.getByText('The operator of this gateway can fix this.').waitFor();

  const window = await site.signIn(await site.operator());
  await window.page.goto(site.url('/'));
  await window.page.getByRole('link', { name: 'View reason' }).waitFor();
  await checkPage(window, 'overview-attention');
});

test('a first step ticks itself when it is done elsewhere, and the list can be hidden', async () => {
  const { page } = await site.signIn();
  await page.goto(site.url('/'));
  await page.locator('[data-step=campaign][data-done=false]').waitFor();
  await exec(
    site.program.pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, confirmed_at, completed_at)
        VALUES (${site.program.account.accountId}, 'Done', 3, 'SMS', now(), now())`,
  );
  // The last steps take one line.
  const few = page.getByRole('region', { name: 'Get started' });
  await page.locator('[data-step=campaign][data-done=true]').or(few).waitFor();
  await page.getByRole('button', { name: 'Hide' }).click();
  await page.getByRole('button', { name: 'Hide' }).waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('heading', { name: 'Active campaigns' }).waitFor();
  expect(await page.getByRole('button', { name: 'Hide' }).count()).toBe(0);
});

test('an operator is asked for a connection and prices first', async () => {
  const { page } = await site.signIn(await site.operator());
  await page.goto(site.url('/'));
  await page.locator('[data-step=connection]').getByRole('link', { name: 'Add a connection' }).click();
  await page.waitForURL('**/operator/connections/new');
});

test('the figures of chosen days are compared with as many before, and stay in the address', async () => {
  const { accountId } = site.program.account;
  await exec(
    site.program.pool,
    sql`INSERT INTO traffic_day (account_id, day, campaign_id, channel, sent, delivered, read, failed, unsent, cost_micros)
        VALUES (${accountId}, '2026-01-09', 0, 1, 1000, 500, 0, 500, 0, 0),
               (${accountId}, '2026-01-10', 0, 1, 1500, 1350, 0, 150, 0, 0)`,
  );
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/'));
  await page.getByText('Dates…').click();
  await page.getByLabel('From').fill('2026-01-10');
  await page.getByLabel('To', { exact: true }).fill('2026-01-10');
  await page.getByText('Before: 1,000 (+50%)').waitFor();
  await page.getByText('Before: 50%').waitFor();
  await page.reload();
  await page.getByText('Before: 1,000 (+50%)').waitFor();
  await page.locator('.recharts-surface').waitFor();
  await checkPage(window, 'overview-period');
});
