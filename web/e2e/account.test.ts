import { afterAll, beforeAll, expect, test } from 'vitest';
import { topUp } from '../../src/money/credit.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
  const { pool, account } = site.program;
  await topUp(pool, { accountId: account.accountId, micros: 25_000_000, reference: 'invoice 7' });
});
afterAll(() => site[Symbol.asyncDispose]());

test('credit transactions are listed, and the filter by kind is kept in the URL', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/account'));
  const row = page.getByRole('row', { name: /invoice 7/ });
  await row.getByText('+€25.00').waitFor();
  await checkPage(window, 'account');
  await page.getByLabel('All transactions').selectOption('settle');
  await page.getByText('No transactions yet').waitFor();
  await expect.poll(() => new URL(page.url()).search).toBe('?kind=settle');
  expect(watch.problems()).toEqual([]);
});

test('campaign rules are saved, and errors are shown at their field', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/account/campaigns'));
  await page.getByRole('switch', { name: 'Use quiet hours' }).check();
  await page.getByLabel('From', { exact: true }).fill('20:30');
  await page.getByRole('switch', { name: 'Allow only the senders below' }).check();
  await page.getByLabel('Allowed senders').fill('Acme\nnot a sender!');
  watch.expect('400');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/must have 1 to 11 letters/).waitFor();
  await page.getByLabel('Allowed senders').fill('Acme\nShop');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Rules saved').waitFor();
  await page.getByRole('button', { name: 'Save', disabled: true }).waitFor();
  await checkPage(window, 'account-campaigns');
  const { body } = await site.program.client.request('GET', '/api/partner-gateway/v1/account/campaigns');
  expect(body).toEqual({ quietHours: { from: '20:30', to: '09:00' }, smsSenders: ['Acme', 'Shop'] });
  await page.reload();
  await expect.poll(() => page.getByLabel('Allowed senders').inputValue()).toBe('Acme\nShop');
  expect(watch.problems()).toEqual([]);
});

test('an admin sets how numbers are read; a manager sees it', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/account/numbers'));
  await page.getByLabel('Default country').selectOption({ label: 'Italy' });
  await page.getByLabel('Length of phone numbers').selectOption('lenient');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  await expect.poll(() => page.getByLabel('Default country').inputValue()).toBe('IT');
  await checkPage(window, 'account-numbers');
  const path = '/api/partner-gateway/v1/account/numbers';
  const { body } = await site.program.client.request('GET', path);
  expect(body).toEqual({ defaultCountry: 'IT', numberChecks: 'lenient' });
  await site.program.client.request('PUT', path, { body: { defaultCountry: null, numberChecks: 'strict' } });
  expect(watch.problems()).toEqual([]);
  const manager = await site.signIn(await site.person('manager'));
  await manager.page.goto(site.url('/account/numbers'));
  expect(await manager.page.getByLabel('Default country').isDisabled()).toBe(true);
  expect(manager.watch.problems()).toEqual([]);
});

test('a sender can use the console without seeing amounts, and nothing that it asks for is refused', async () => {
  const { page, watch } = await site.signIn(await site.person('sender'));
  await page.goto(site.url('/'));
  await page.getByText('Delivered today').waitFor();
  expect(await page.getByText('Available credit').count()).toBe(0);
  for (const [path, heading] of [
    ['/messages', 'Messages'],
    ['/campaigns', 'Campaigns'],
    ['/contacts', 'Contacts'],
    ['/account/senders', 'Senders'],
  ] as const) {
    await page.goto(site.url(path));
    await page.getByRole('heading', { name: heading, exact: true }).first().waitFor();
  }
  await page.goto(site.url('/account'));
  await page.getByText('Your role does not include this.').waitFor();
  await page.goto(site.url('/social'));
  await page.getByRole('heading', { name: 'You do not have access to this page' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('users who may not change the rules can read them and see why', async () => {
  const { page } = await site.signIn(await site.person('manager'));
  await page.goto(site.url('/account/campaigns'));
  await page.getByRole('button', { name: 'Save', disabled: true }).waitFor();
  await page.getByText('Your role does not include this.').first().waitFor();
});

test('senders are listed, and an agent can be requested', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/account/senders'));
  await page.getByText('High quality').waitFor();
  await page.getByRole('button', { name: 'Request an agent' }).click();
  await page.getByLabel('Display name').fill('Acme Shop');
  await page.getByLabel('Privacy policy').fill('http://acme.example');
  watch.expect('400');
  await page.getByRole('button', { name: 'Request agent' }).click();
  await page.getByText('must be an https URL').waitFor();
  await page.getByLabel('Privacy policy').fill('https://acme.example/privacy');
  await page.getByRole('button', { name: 'Request agent' }).click();
  await page.getByText('Agent requested').waitFor();
  await page.getByText('Acme Shop').waitFor();
  await checkPage(window, 'account-senders');
});

test('a WhatsApp template is submitted for approval with an example for each placeholder, and deleted', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/account/templates'));
  await page.getByRole('button', { name: 'sandbox_welcome', exact: true }).waitFor();
  await checkPage(window, 'account-templates');
  await page.getByRole('button', { name: 'New template' }).click();
  await page.getByLabel('Sending number').selectOption({ index: 1 });
  await page.getByRole('textbox', { name: 'Name' }).fill('order_sent');
  await page.getByLabel('Text', { exact: true }).fill('Hello {{1}}, your order is on its way.');
  await page.getByLabel('Example for 1').fill('Anna');
  await page.getByLabel('Phone preview').getByText('Hello {{1}}, your order').waitFor();
  await checkPage(window, 'account-template-new');
  await page.getByRole('button', { name: 'Submit for approval' }).click();
  const row = page.getByRole('row', { name: /order_sent/ });
  await row.waitFor();
  await row.getByRole('button', { name: 'order_sent', exact: true }).click();
  await page.getByRole('dialog', { name: 'order_sent' }).getByText('{{1}}', { exact: true }).waitFor();
  await checkPage(window, 'account-template');
  await page.keyboard.press('Escape');
  await row.getByRole('button', { name: 'Delete order_sent' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete the template “order_sent”?' });
  await dialog.getByRole('button', { name: 'Delete template' }).click();
  await row.waitFor({ state: 'detached' });
  expect(watch.problems()).toEqual([]);
});

test('an RCS template is saved with its replies', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/account/templates?channel=RCS'));
  await page.getByRole('button', { name: 'New template' }).first().click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Reminder');
  await page.getByLabel('Text', { exact: true }).fill('See you tomorrow, {{name}}?');
  await page.getByLabel('Suggested replies (optional)').fill('Yes\nNo');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Reminder', exact: true }).click();
  await page.getByRole('dialog', { name: 'Reminder' }).getByText('Yes', { exact: true }).waitFor();
  expect(watch.problems()).toEqual([]);
});
