import { afterAll, beforeAll, expect, test } from 'vitest';
import { bindLibrary } from '../../test/support/carriers/smpp-library-client.ts';
import { freePort } from '../../test/support/free-port.ts';
import { newCredential } from '../../test/support/smpp-server.ts';
import { checkPage, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import { textOf } from './text-of.ts';

let port: number;
let site: Site;
beforeAll(async () => {
  port = await freePort();
  site = await openSite({ environment: { SMPP_PORT: String(port) } });
});
afterAll(() => site[Symbol.asyncDispose]());

const bindStatus = async (systemId: string, password: string): Promise<number> => {
  const client = await bindLibrary(port, 'transceiver', { system_id: systemId, password });
  await client.close();
  return client.bound.command_status;
};

test('a new credential binds, is changed, gets another password, and is deleted', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/smpp'));
  await page.getByRole('button', { name: 'New credential' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New SMPP credential' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Kannel');
  await dialog.getByRole('textbox', { name: 'Senders' }).fill('ACME\nOTHER');
  await dialog.getByRole('button', { name: 'Create credential' }).click();
  const systemId = await textOf(dialog.getByLabel('system_id', { exact: true }));
  const password = await textOf(dialog.getByLabel('Password', { exact: true }));
  await dialog.getByRole('button', { name: 'I’ve copied it' }).click();
  expect(await bindStatus(systemId, password)).toBe(0);

  const row = page.getByRole('row', { name: /Kannel/ });
  expect(await textOf(row)).not.toContain(password);
  await row.getByRole('button', { name: 'Change Kannel' }).click();
  const change = page.getByRole('dialog', { name: 'Change “Kannel”' });
  expect(await change.getByRole('textbox', { name: 'Senders' }).inputValue()).toBe('ACME\nOTHER');
  await change.getByRole('textbox', { name: 'Messages per second' }).fill('25');
  await change.getByRole('button', { name: 'Save' }).click();
  await page.getByText('“Kannel” changed').waitFor();
  await row.getByText('25', { exact: true }).waitFor();

  await row.getByRole('button', { name: 'New password for Kannel' }).click();
  const rotate = page.getByRole('dialog', { name: 'New password for “Kannel”' });
  await rotate.getByRole('button', { name: 'Change password' }).click();
  const next = await textOf(rotate.getByLabel('Password', { exact: true }));
  await rotate.getByRole('button', { name: 'I’ve copied it' }).click();
  expect(await bindStatus(systemId, password)).not.toBe(0);
  expect(await bindStatus(systemId, next)).toBe(0);

  await row.getByRole('button', { name: 'Delete Kannel' }).click();
  await page
    .getByRole('dialog', { name: 'Delete “Kannel”?' })
    .getByRole('button', { name: 'Delete credential' })
    .click();
  await page.getByText('“Kannel” deleted').waitFor();
  await row.waitFor({ state: 'detached' });
  expect(await bindStatus(systemId, next)).not.toBe(0);
  expect(watch.problems()).toEqual([]);
});

test('an address that is none is shown at its field', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/smpp'));
  await page.getByRole('button', { name: 'New credential' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New SMPP credential' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Wrong');
  await dialog.getByRole('textbox', { name: 'Addresses that may bind' }).fill('somewhere');
  watch.expect('400');
  await dialog.getByRole('button', { name: 'Create credential' }).click();
  await dialog.getByText(/must be an IP address/).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('operators see who is bound, and from where', async () => {
  const { pool, account } = site.program;
  const { systemId, password } = await newCredential(pool, account.accountId, { name: 'Jasmin' });
  const client = await bindLibrary(port, 'receiver', { system_id: systemId, password });
  const window = await site.signIn(await site.operator());
  await window.page.goto(site.url('/operator/binds'));
  const row = window.page.getByRole('row', { name: /Jasmin/ });
  await row.getByText('Receiver', { exact: true }).waitFor();
  expect(await textOf(row)).toContain('127.0.0.1');
  await checkPage(window, 'operator-binds');
  await client.close();
  await row.waitFor({ state: 'detached' });
  expect(window.watch.problems()).toEqual([]);
});

testAtNight('the page and its dialog are accessible and no wider than the window', async () => {
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/smpp'));
  await page.getByRole('button', { name: 'New credential' }).first().waitFor();
  await checkPage(window, 'smpp');
  await page.getByRole('button', { name: 'New credential' }).first().click();
  await page.getByLabel('Addresses that may bind').waitFor();
  await checkPage(window, 'smpp-create');
});
