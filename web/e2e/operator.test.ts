import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { exec, sql } from '../../src/core/db/query.ts';
import { PASSWORD, startCarrier } from '../../test/support/program.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Person, type Site } from './harness.ts';
import { textOf } from './text-of.ts';

/** A carrier that receives everything to +4479 and never responds, so that outcomes stay unknown. */
const SILENT = {
  script: { dropResponseShare: 1, receipts: 'none' },
  settings: { submitTimeoutSeconds: 0.2 },
  prefix: '4479',
} as const;

let site: Site;
let operator: Person;
beforeAll(async () => {
  site = await openSite({ carriers: { silent: SILENT } });
  operator = await site.operator();
});
afterAll(() => site[Symbol.asyncDispose]());

/** Opens a page in a new window of the operator. */
async function at(path: string) {
  const window = await site.signIn(operator);
  await window.page.goto(site.url(path));
  return window;
}

/** Sends a message as a client of the account, and returns its ID. */
async function send(phoneNumber: string): Promise<string> {
  const { messageId } = await site.program.client.send({ phoneNumber, message: 'Hello' });
  return messageId ?? '';
}

const dialog = (page: Page) => page.getByRole('dialog');
const said = (page: Page, text: string | RegExp) =>
  page.getByRole('status').filter({ hasText: text }).first().waitFor();

test('other users have no operator pages in the navigation, and see why at their URLs', async () => {
  const { page } = await site.signIn();
  await page.goto(site.url('/'));
  const navigation = page.getByRole('navigation', { name: 'Main' });
  await navigation.getByRole('link', { name: 'Developers' }).waitFor();
  expect(await navigation.getByRole('link', { name: 'Gateway' }).count()).toBe(0);
  for (const path of ['/operator', '/operator/accounts', '/operator/connections/new']) {
    await page.goto(site.url(path));
    await page.getByText('Only operators of this installation can do this.').waitFor();
  }
});

test('a connection is tested with the carrier response, added, given a route and a price, and then sends messages', async () => {
  const carrier = await startCarrier('nordic');
  onTestFinished(() => carrier.close());
  const window = await at('/operator/connections');
  const { page, watch } = window;
  await page.getByRole('link', { name: 'New connection' }).first().click();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText('Required').first().waitFor();

  await page.getByRole('textbox', { name: 'Name' }).fill('nordic');
  await page.getByRole('textbox', { name: 'Carrier address' }).fill('127.0.0.1');
  await page.getByRole('textbox', { name: 'Port' }).fill(String(carrier.port));
  await page.getByRole('textbox', { name: 'System ID' }).fill('nordic');
  await page.getByRole('textbox', { name: 'Password' }).fill('wrong');
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('button', { name: 'Run test' }).click();
  const result = page.getByRole('status', { name: 'Test result' });
  await result.getByText('Connection failed.').waitFor();
  await result.getByText(/ESME_RINVPASWD/).waitFor();
  await checkPage(window, 'operator-connection-test');

  await page.getByRole('button', { name: 'Back' }).click();
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('button', { name: 'Run test' }).click();
  await result.getByText('Connection successful.').waitFor();
  await page.getByRole('button', { name: 'Add connection' }).click();
  await page.getByRole('heading', { name: '“nordic” added' }).waitFor();

  await page.getByRole('link', { name: 'Add route' }).click();
  await dialog(page).getByRole('textbox', { name: 'Prefix' }).fill('+46 70');
  await dialog(page).getByRole('button', { name: 'Add route' }).click();
  await page.getByRole('row', { name: /\+4670 Sweden Primary nordic/ }).waitFor();
  await page.getByRole('textbox', { name: 'Phone number' }).fill('+46701234567');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByRole('list', { name: 'Connections, in order' }).getByRole('link', { name: 'nordic' }).waitFor();

  await page.goto(site.url('/operator/prices'));
  await page.getByRole('button', { name: 'New price' }).first().click();
  await dialog(page).getByRole('textbox', { name: 'Prefix' }).fill('46');
  await dialog(page)
    .getByRole('textbox', { name: /Price per part/ })
    .fill('0.05');
  await dialog(page).getByRole('button', { name: 'Save price' }).click();
  await page.getByRole('row', { name: /\+46 Sweden/ }).waitFor();

  const messageId = await send('+46701234567');
  await site.program.client.untilStatus(messageId, 'DELIVERED');
  expect(carrier.ledger.submits()).toHaveLength(1);
  expect(watch.problems()).toEqual([]);
});

test('a price is edited in place, and a route is deleted after a confirmation', async () => {
  const { page, watch } = await at('/operator/prices');
  await page.getByRole('button', { name: /edit the price for RCS, all numbers/ }).click();
  await page.getByRole('textbox', { name: 'New price for RCS, all numbers' }).fill('0.0725');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^€0\.0725: edit the price for RCS/ }).waitFor();
  await page.getByRole('button', { name: /edit the price for RCS, all numbers/ }).click();
  await page.getByRole('textbox', { name: 'New price for RCS, all numbers' }).fill('9');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^€0\.0725: edit the price for RCS/ }).waitFor();

  await page.goto(site.url('/operator/routes?add=silent'));
  await dialog(page).getByRole('textbox', { name: 'Prefix' }).fill('998');
  await dialog(page).getByRole('button', { name: 'Add route' }).click();
  await page.getByRole('button', { name: 'Delete the route for +998 over silent' }).click();
  await dialog(page).getByRole('button', { name: 'Delete route' }).click();
  await page.getByRole('row', { name: /\+998/ }).waitFor({ state: 'detached' });
  expect(watch.problems()).toEqual([]);
});

test('an account is created, topped up, switched to and left again, suspended and reactivated', async () => {
  const { page, watch } = await at('/operator/accounts');
  await page.getByRole('button', { name: 'New account' }).click();
  await dialog(page).getByRole('textbox', { name: 'Name' }).fill('Corner Shop');
  await dialog(page).getByRole('button', { name: 'Create account' }).click();
  const apiKey = await textOf(dialog(page).getByLabel('API key', { exact: true }));
  await dialog(page).getByRole('link', { name: 'View account' }).click();
  await page.getByRole('heading', { level: 1, name: 'Corner Shop' }).waitFor();
  const client = site.program.clientOf(apiKey);
  const credit = async () => (await client.request('GET', '/api/partner-gateway/v1/subscription/credit')).status;
  expect(await credit()).toBe(200);

  await page.getByRole('button', { name: 'Add credit' }).click();
  await dialog(page).getByRole('textbox', { name: 'Amount in EUR' }).fill('25.5');
  await dialog(page).getByRole('textbox', { name: 'Reference' }).fill('INV-7');
  await dialog(page).getByRole('button', { name: 'Add credit' }).click();
  await page.getByRole('row', { name: /Credit added.*€25\.50 INV-7/ }).waitFor();

  await page.getByRole('button', { name: 'Switch to this account' }).click();
  await page.getByText('You are working in the account “Corner Shop” as an operator.').waitFor();
  await page.getByRole('banner').getByText('Corner Shop').waitFor();
  await page.getByRole('button', { name: 'Back to my account' }).click();
  await page.getByRole('banner').getByText('Operations').waitFor();

  await page.goto(site.url('/operator/accounts?search=Corner'));
  await page.getByRole('link', { name: 'Corner Shop' }).click();
  await page.getByRole('button', { name: 'Suspend…' }).click();
  await dialog(page).getByRole('button', { name: 'Suspend account' }).click();
  await page.getByText('Suspended', { exact: true }).waitFor();
  expect(await credit()).toBe(403);
  await page.getByRole('button', { name: 'Reactivate…' }).click();
  await dialog(page).getByRole('button', { name: 'Reactivate account' }).click();
  await page.getByText('Active', { exact: true }).waitFor();
  expect(await credit()).toBe(200);
  expect(watch.problems()).toEqual([]);
});

test('the limits of an account are changed in its form, and errors are shown at their field', async () => {
  const { page, watch } = await at(`/operator/accounts/${site.program.account.accountId}`);
  await page.getByRole('textbox', { name: 'Default country' }).fill('QQ');
  watch.expect('400');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('textbox', { name: 'Default country' }).and(page.locator('[aria-invalid=true]')).waitFor();
  await page.getByRole('textbox', { name: 'Default country' }).fill('IT');
  await page.getByRole('textbox', { name: 'Requests per minute' }).fill('90000');
  await page.getByRole('button', { name: 'Save' }).click();
  await said(page, 'Saved');
  await page.reload();
  const limit = page.getByRole('textbox', { name: 'Requests per minute' });
  await expect.poll(() => limit.inputValue()).toBe('90 000');
  expect(watch.problems()).toEqual([]);
});

test('an operator whose sign-in is old confirms it over each page, and what was begun there is done', async () => {
  const window = await at('/operator/prices');
  const { page, watch } = window;
  watch.expect('403');
  const proven = async (act: () => Promise<void>): Promise<void> => {
    await exec(site.program.pool, sql`UPDATE user_session SET proven_at = now() - interval '11 minutes'`);
    await act();
    const confirming = page.getByRole('dialog', { name: 'Confirm your identity' });
    await confirming.getByRole('textbox', { name: 'Password' }).fill(operator.password);
    await confirming.getByRole('button', { name: 'Confirm' }).click();
    await confirming.waitFor({ state: 'detached' });
  };
  await page.getByRole('button', { name: /edit the price for WhatsApp, all numbers/ }).click();
  await page.getByRole('textbox', { name: 'New price for WhatsApp, all numbers' }).fill('0.0815');
  await proven(() => page.keyboard.press('Enter'));
  await page.getByRole('button', { name: /^€0\.0815: edit the price for WhatsApp/ }).waitFor();

  await page.goto(site.url('/operator/routes?add=silent'));
  await dialog(page).getByRole('textbox', { name: 'Prefix' }).fill('997');
  await proven(() => dialog(page).getByRole('button', { name: 'Add route' }).click());
  await page.getByRole('button', { name: 'Delete the route for +997 over silent' }).click();
  await proven(() => dialog(page).getByRole('button', { name: 'Delete route' }).click());
  await page.getByRole('row', { name: /\+997/ }).waitFor({ state: 'detached' });

  await page.goto(site.url('/operator/connections/silent'));
  await page.getByRole('button', { name: 'Pause…' }).click();
  await proven(() => dialog(page).getByRole('button', { name: 'Pause connection' }).click());
  await proven(() => page.getByRole('button', { name: 'Resume' }).click());
  await page.getByRole('button', { name: 'Pause…' }).waitFor();

  await page.goto(site.url(`/operator/accounts/${site.program.account.accountId}`));
  await page.getByRole('textbox', { name: 'Requests per minute' }).fill('80000');
  await proven(() => page.getByRole('button', { name: 'Save' }).click());
  await said(page, 'Saved');
  await proven(() => page.getByRole('button', { name: 'Switch to this account' }).click());
  await page.getByRole('button', { name: 'Back to my account' }).click();
  await page.getByRole('banner').getByText('Operations').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('several messages with unknown outcomes are resolved at once', async () => {
  const { client } = site.program;
  const sent = [await send('+447900000001'), await send('+447900000002')];
  await client.untilAll(sent, 'UNKNOWN');
  const window = await at('/operator/unknowns');
  const { page, watch } = window;
  await page
    .getByRole('row', { name: /silent/ })
    .nth(1)
    .waitFor();
  await checkPage(window, 'operator-unknowns');
  await page.getByRole('checkbox', { name: 'Select all rows on this page' }).check();
  await page.getByRole('button', { name: 'Resolve selected' }).click();
  await dialog(page).getByRole('radio', { name: 'Undeliverable' }).check();
  await checkPage(window, 'operator-unknowns-settle');
  await dialog(page).getByRole('button', { name: 'Resolve', exact: true }).click();
  await page.getByText('2 messages resolved').waitFor();
  await page.getByText('No unknown outcomes').waitFor();
  await client.untilAll(sent, 'UNDELIVERABLE');
  expect(watch.problems()).toEqual([]);
});

test('sending is paused for everyone with a reason, and resumed with the queued messages', async () => {
  const window = await at('/operator');
  const { page, watch } = window;
  await page.getByRole('button', { name: 'Pause sending…' }).click();
  await dialog(page).getByRole('textbox', { name: 'Reason' }).fill('Wrong prices');
  await dialog(page).getByRole('button', { name: 'Pause sending' }).click();
  await page
    .getByRole('alert')
    .getByText(/Wrong prices/)
    .waitFor();
  const messageId = await send('+393331234567');
  await page.getByRole('button', { name: 'Resume sending…' }).click();
  await dialog(page).getByRole('cell', { name: 'Acme' }).waitFor();
  await checkPage(window, 'operator-resume');
  await dialog(page).getByRole('button', { name: 'Resume sending' }).click();
  await page.getByRole('button', { name: 'Pause sending…' }).waitFor();
  await site.program.client.untilStatus(messageId, 'DELIVERED');
  expect(watch.problems()).toEqual([]);
});

test('a connection is paused and resumed, and cannot be deleted while a route uses it', async () => {
  const { page, watch } = await at('/operator/connections/silent');
  await page.getByRole('button', { name: 'Pause…' }).click();
  await dialog(page).getByRole('button', { name: 'Pause connection' }).click();
  await page.getByText('Paused', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause…' }).waitFor();

  await page.getByRole('button', { name: 'Delete…' }).click();
  await dialog(page).getByText('1 route that uses it').waitFor();
  await dialog(page).getByRole('textbox', { name: 'Type silent to confirm' }).fill('silent');
  watch.expect('409');
  await dialog(page).getByRole('button', { name: 'Delete connection' }).click();
  await page
    .getByRole('alert')
    .getByText(/Routes lead to connection silent/)
    .waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a WhatsApp account is set up at Meta on request, and the page says what is there', async () => {
  const { page, watch } = await at('/operator/connections/sandbox-whatsapp');
  await page.getByRole('button', { name: 'Set up' }).click();
  const result = page.getByRole('status', { name: 'Setup result' });
  await result.getByText('App subscribed to the account').waitFor();
  await result.getByText('All numbers are registered for the Cloud API.').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('WhatsApp templates are synchronised on request', async () => {
  const { page, watch } = await at('/operator/connections/sandbox-whatsapp');
  await page.getByRole('button', { name: 'Synchronise now' }).click();
  await said(page, /Synchronised: \d+ templates?\./);
  expect(watch.problems()).toEqual([]);
});
