import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exec, sql } from '../../src/core/db/query.ts';
import { CONTRAST, violations, WCAG } from './axe.ts';
import { takeShot } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import { settle } from './settle.ts';
import { WIDE } from './windows.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
  const { accountId } = site.program.account;
  await exec(
    site.program.pool,
    sql`INSERT INTO contact (account_id, given_full_name, phone_number, is_valid, channels)
        VALUES (${accountId}, 'Anna Rossi', '+393331234567', true, 1)`,
  );
  await exec(
    site.program.pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode) VALUES (${accountId}, 'Rossi summer', 1, 'SMS')`,
  );
});
afterAll(() => site[Symbol.asyncDispose]());

const field = (page: Page) => page.getByRole('combobox', { name: 'Number, name, message ID, page or action' });
const chosen = (page: Page) => page.locator('[role=option][aria-selected=true]');

test('Ctrl-K opens the search anywhere; a contact is found by name and opened with the keyboard alone', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/api-keys'));
  await page.getByText('first key').waitFor();
  await page.keyboard.press('Control+k');
  await field(page).waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.getAttribute("role")')).toBe('combobox');
  await page.keyboard.type('rossi');
  await page.getByRole('option', { name: /^Anna Rossi/ }).waitFor();
  await expect.poll(() => chosen(page).textContent()).toContain('Anna Rossi');
  await page.keyboard.press('ArrowDown');
  expect(await chosen(page).textContent()).toContain('Rossi summer');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Anna Rossi' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a message is found by its id or its number, and a page by its name', async () => {
  const { page } = await site.signIn();
  const { messageId } = await site.program.client.send({
    phoneNumber: '+393331234567',
    message: 'Hello',
    sender: 'Acme',
  });
  await page.goto(site.url('/'));
  await page.getByRole('button', { name: 'Search' }).click();
  await field(page).fill(messageId ?? '');
  await page.getByRole('option', { name: /^\+393331234567/ }).click();
  await page.waitForURL(`**/messages/${messageId}`);
  await page.keyboard.press('Control+k');
  await field(page).fill('333 1234');
  await page.getByRole('option', { name: /^\+393331234567 ?SMS · Delivered/ }).waitFor();
  await page.getByRole('option', { name: 'Messages to “333 1234”' }).click();
  await page.waitForURL('**/messages?q=*');
  await page.keyboard.press('Control+k');
  await field(page).fill('webh');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
});

test('an operator finds accounts, other users neither accounts nor pages of operators', async () => {
  const operator = await site.signIn(await site.operator());
  await operator.page.goto(site.url('/'));
  await operator.page.getByRole('button', { name: 'Search' }).click();
  await field(operator.page).fill('acme');
  await operator.page.getByRole('option', { name: /^Acme/ }).click();
  await operator.page.waitForURL('**/operator/accounts/*');

  const viewer = await site.signIn(await site.person('viewer'));
  await viewer.page.goto(site.url('/'));
  await viewer.page.getByRole('button', { name: 'Search' }).click();
  const options = viewer.page.getByRole('option');
  for (const text of ['route', 'create', 'acme']) {
    await field(viewer.page).fill(text);
    await viewer.page.getByText('No results.', { exact: false }).waitFor();
    expect(await options.count()).toBe(0);
  }
  expect(viewer.watch.problems()).toEqual([]);
});

test('the search is accessible in both themes, fits a phone, and speaks Italian', async () => {
  const { page, watch } = await site.signIn(site.owner, { locale: 'it-IT' });
  await page.goto(site.url('/'));
  await page.getByRole('button', { name: 'Cerca' }).click();
  const input = page.getByRole('combobox', { name: 'Numero, nome, ID messaggio, pagina o azione' });
  await input.fill('ro');
  await page.getByRole('option').first().waitFor();
  for (const [width, height] of [
    [WIDE.width, WIDE.height],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    for (const [colorScheme, rules] of [
      ['light', WCAG],
      ['dark', CONTRAST],
    ] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await settle(page);
      await takeShot(page, `search-${width}-${colorScheme}`, { fullPage: false });
      expect(await violations(page, rules), `${width} ${colorScheme}`).toEqual([]);
    }
  }
  await page.keyboard.press('Escape');
  await input.waitFor({ state: 'detached' });
  expect(watch.problems()).toEqual([]);
});
