import { afterAll, beforeAll, expect, test } from 'vitest';
import { pauseSending } from '../../src/operations/restore-guard/decide.ts';
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
  await page.getByRole('button', { name: 'Show as table' }).last().click();
  const figures = page.getByRole('table', { name: 'Results by channel' }).getByRole('row', { name: /^SMS/ });
  await expect.poll(() => figures.getByRole('cell').allTextContents()).toEqual(['SMS', '10', '2']);
  await page.getByRole('button', { name: 'Show as chart' }).click();
  await page.locator('.recharts-surface').nth(1).waitFor();
  await checkPage(window, 'overview');
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
