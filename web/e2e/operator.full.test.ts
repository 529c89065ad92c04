import { afterAll, beforeAll, test } from 'vitest';
import { confirmQueued, pauseSending } from '../../src/operate/restore-guard.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Person, type Site } from './harness.ts';

let site: Site;
let operator: Person;
beforeAll(async () => {
  site = await openSite({ carriers: { silent: {} } });
  operator = await site.operator();
  // So that the figures and the log of the gateway contain something.
  const { messageId } = await site.program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
  await site.program.client.untilStatus(messageId ?? '', 'DELIVERED');
  await pauseSending(site.program.pool, { by: 'operations', reason: 'Wrong prices' });
  await confirmQueued(site.program.pool, { by: 'operations' });
});
afterAll(() => site[Symbol.asyncDispose]());

/** Opens a page in a new window of the operator. */
async function at(path: string) {
  const window = await site.signIn(operator);
  await window.page.goto(site.url(path));
  return window;
}

const PAGES = [
  ['operator', '/operator', 'Most active accounts in the last hour'],
  ['operator-accounts', '/operator/accounts', 'Operations'],
  ['operator-connections', '/operator/connections', 'silent'],
  ['operator-connection', '/operator/connections/silent', 'Related items'],
  ['operator-connection-new', '/operator/connections/new?step=settings', 'System ID'],
  ['operator-routes', '/operator/routes', 'All numbers'],
  ['operator-prices', '/operator/prices', 'All numbers'],
  ['operator-senders', '/operator/senders', 'All accounts'],
  ['operator-costs', '/operator/prices?tab=costs', 'No charges'],
  ['operator-margins', '/operator/prices?tab=margins', 'Margins of the last 30 days'],
  ['operator-sender-rules', '/operator/senders?tab=rules', 'Registered senders'],
  ['operator-pools', '/operator/senders?tab=pools', 'Number pools'],
  ['operator-numbers', '/operator/senders?tab=numbers', 'All other numbers'],
  ['operator-templates', '/operator/senders?tab=templates', 'Search by name'],
  ['operator-queues', '/operator/queues', 'Webhook retries'],
  ['operator-reconciliation', '/operator/health?tab=reconciliation', 'Ledger balances to zero'],
  ['operator-receipts', '/operator/health?tab=receipts', 'For each carrier'],
  ['operator-doctor', '/operator/health?tab=doctor', 'Database'],
  ['operator-log', '/operator/log', 'Sending paused'],
] as const;

test.each(PAGES)('%s is accessible in both themes and at both widths', async (name, path, text) => {
  const window = await at(path);
  const main = window.page.getByRole('main');
  await main.getByText(text).or(main.getByPlaceholder(text)).filter({ visible: true }).first().waitFor();
  await checkPage(window, name);
});

const DIALOGS = [
  ['operator-account-new', '/operator/accounts', 'New account'],
  ['operator-price-new', '/operator/prices', 'New price'],
  ['operator-route-new', '/operator/routes', 'New route'],
  ['operator-lookup-new', '/operator/routes', 'New service'],
  ['operator-sender-new', '/operator/senders', 'Assign sender'],
  ['operator-number-new', '/operator/senders?tab=numbers', 'Assign number'],
  ['operator-cost-new', '/operator/prices?tab=costs', 'New charge'],
  ['operator-cost-import', '/operator/prices?tab=costs', 'Import price list'],
  ['operator-sender-rule-new', '/operator/senders?tab=rules', 'New rule'],
  ['operator-registered-new', '/operator/senders?tab=rules', 'Add sender'],
  ['operator-pool-new', '/operator/senders?tab=pools', 'New pool'],
  ['operator-pause', '/operator', 'Pause sending…'],
  ['operator-connection-edit', '/operator/connections/silent', 'Edit'],
] as const;

test.each(DIALOGS)('%s is accessible in both themes and at both widths', async (name, path, button) => {
  const window = await at(path);
  await window.page.getByRole('button', { name: button, exact: true }).first().click();
  await window.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).waitFor();
  await checkPage(window, name);
});

test('the page of an account is accessible in both themes and at both widths', async () => {
  const window = await at(`/operator/accounts/${site.program.account.accountId}`);
  await window.page.getByRole('heading', { name: 'Ledger' }).waitFor();
  await checkPage(window, 'operator-account');
});
