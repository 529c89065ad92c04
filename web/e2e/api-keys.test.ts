import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import { textOf } from './text-of.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

test('a new key is shown once, works, and stops working when it is revoked', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/api-keys'));
  await page.getByRole('button', { name: 'New API key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Shop');
  await page.getByRole('button', { name: 'Create API key' }).click();
  const key = await textOf(page.getByLabel('API key', { exact: true }));
  await page.getByRole('button', { name: 'I’ve copied it' }).click();
  expect(await statusWith(key)).toBe(200);

  const row = page.getByRole('row', { name: /Shop/ });
  expect(await textOf(row)).not.toContain(key);
  await row.getByRole('button', { name: 'Revoke Shop' }).click();
  await page.getByRole('dialog', { name: 'Revoke “Shop”?' }).getByRole('button', { name: 'Revoke key' }).click();
  await page.getByText('“Shop” revoked').waitFor();
  await row.waitFor({ state: 'detached' });
  expect(await statusWith(key)).toBe(401);
  expect(watch.problems()).toEqual([]);
});

test('server errors are shown at their field, and no key is created', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/api-keys'));
  await page.getByRole('button', { name: 'New API key' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Late');
  await page.getByLabel('Expires on').fill('2020-01-01');
  watch.expect('400');
  await page.getByRole('button', { name: 'Create API key' }).click();
  await page
    .getByRole('dialog')
    .getByText(/future/)
    .waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('row', { name: /first key/ }).waitFor();
  expect(await page.getByRole('row', { name: /Late/ }).count()).toBe(0);
  expect(watch.problems()).toEqual([]);
});

test('a key is found by its value, and filters are kept in the URL', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/api-keys'));
  await page.getByRole('button', { name: 'Find by value' }).click();
  const dialog = page.getByRole('dialog', { name: 'Find an API key' });
  watch.expect('404');
  await dialog.getByLabel('Key value').fill(`pg_live_${'A'.repeat(43)}`);
  await dialog.getByRole('button', { name: 'Find', exact: true }).click();
  await dialog.getByText('No API key in this account has this value.').waitFor();
  await dialog.getByLabel('Key value').fill(site.program.account.apiKey);
  await dialog.getByRole('button', { name: 'Find', exact: true }).click();
  await dialog.getByText('first key').waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Any status').selectOption({ label: 'Expired' });
  await page.getByText('No API keys match').waitFor();
  await expect.poll(() => page.url()).toBe(site.url('/api-keys?status=expired'));
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('row', { name: /first key/ }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('users without the scope see the reason instead of the page', async () => {
  const { page } = await site.signIn(await site.person('viewer'));
  await page.goto(site.url('/api-keys'));
  await page.getByText('Your role does not include this.').waitFor();
});

testAtNight('the page and its dialogs are accessible and no wider than the window', async () => {
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/api-keys'));
  await page.getByText('first key').waitFor();
  await checkPage(window, 'api-keys');
  await page.getByRole('button', { name: 'New API key' }).click();
  await page.getByLabel('Expires on').waitFor();
  await checkPage(window, 'api-keys-create');
  await page.keyboard.press('Escape');
  await page
    .getByRole('button', { name: /^Revoke / })
    .first()
    .click();
  await page.getByRole('button', { name: 'Revoke key' }).waitFor();
  await checkPage(window, 'api-keys-revoke');
});

async function statusWith(apiKey: string): Promise<number> {
  const { status } = await fetch(site.url('/api/partner-gateway/v1/subscription'), {
    headers: { 'x-api-key': apiKey },
  });
  return status;
}
