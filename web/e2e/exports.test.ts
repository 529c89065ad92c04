import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exec, sql } from '../../src/core/db/query.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

async function download(page: Page, row: ReturnType<Page['getByRole']>): Promise<Buffer> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    row.getByRole('button', { name: 'Download' }).click(),
  ]);
  return readFile(await file.path());
}

async function countExports(): Promise<number> {
  const { body } = await site.program.client.request('GET', '/api/partner-gateway/v1/exports');
  return Number(Object(body).total);
}

test('without exports, the page says what exports are for', async () => {
  const window = await site.signIn();
  await window.page.goto(site.url('/exports'));
  await window.page.getByText('No exports yet').waitFor();
  await checkPage(window, 'exports-empty');
});

test('messages are exported, and the downloaded file contains them', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  const { messageId } = await site.program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
  await page.goto(site.url('/exports'));
  await page.getByRole('button', { name: 'New export' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New export' });
  await dialog.getByLabel('Recipient').fill('+39 333 123 4567');
  await checkPage(window, 'exports-create');
  await dialog.getByRole('button', { name: 'Export' }).click();
  const row = page.getByRole('row', { name: /Messages/ });
  await row.getByText('To +393331234567').waitFor();
  await row.getByText('Ready').waitFor();
  const text = (await download(page, row)).toString();
  expect(text).toContain(messageId);
  expect(text).toContain('+393331234567');
  expect(watch.problems()).toEqual([]);
});

test('contacts are exported compressed, and exported again when the file has expired', async () => {
  const { page, watch } = await site.signIn();
  await site.program.client.request('POST', '/api/partner-gateway/v1/contacts', {
    body: { name: 'Anna', surname: 'Rossi', phoneNumber: '+393331110001' },
  });
  await page.goto(site.url('/exports'));
  await page.getByRole('button', { name: 'New export' }).click();
  const dialog = page.getByRole('dialog', { name: 'New export' });
  await dialog.getByRole('radio', { name: 'Contacts' }).check();
  await dialog.getByRole('radio', { name: 'CSV (gzip)' }).check();
  await dialog.getByRole('button', { name: 'Export' }).click();
  const row = page.getByRole('row', { name: /Contacts/ });
  await row.getByText('Ready').waitFor();
  expect(gunzipSync(await download(page, row)).toString()).toContain('+393331110001');

  await exec(site.program.pool, sql`UPDATE export SET expires_at = now() WHERE type = 'CONTACTS'`);
  await page.reload();
  await row.getByText('Expired').waitFor();
  await row.getByRole('button', { name: 'Create again' }).click();
  await row.getByText('Ready').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a date range that ends before it starts is rejected at the field, and no export is requested', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/exports'));
  const before = await countExports();
  expect(before).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'New export' }).click();
  const dialog = page.getByRole('dialog', { name: 'New export' });
  await dialog.getByLabel('From').fill('2026-05-02');
  await dialog.getByLabel('To (inclusive)').fill('2026-05-01');
  watch.expect('400');
  await dialog.getByRole('button', { name: 'Export' }).click();
  await dialog.getByText(/must not be before/).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await countExports()).toBe(before);
  expect(watch.problems()).toEqual([]);
});

test('an export is deleted after a confirmation, and the list is accessible', async () => {
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/exports'));
  const row = page.getByRole('row', { name: /Messages/ });
  await row.getByText('Ready').waitFor();
  await checkPage(window, 'exports');
  await row.getByRole('button', { name: 'Delete export: Messages' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete the export “Messages”?' });
  await dialog.getByRole('button', { name: 'Delete export' }).click();
  await row.waitFor({ state: 'detached' });
});
