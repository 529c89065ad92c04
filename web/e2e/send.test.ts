import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operatorAuthor } from '../../src/accounts/audit.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { changeTlvTags } from '../../src/routing/account-tlvs.ts';
import { checkPage, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

const PG = '/api/partner-gateway/v1';

let site: Site;
beforeAll(async () => {
  site = await openSite();
  const contact = { phoneNumber: '+393335550101', fullName: 'Ana Bianchi', firstName: 'Ana' };
  const made = await site.program.client.request('POST', `${PG}/contacts`, { body: contact });
  expect(made.status).toBeLessThan(300);
});
afterAll(() => site[Symbol.asyncDispose]());

const open = async (page: Page, search = ''): Promise<void> => {
  await page.goto(site.url(`/send${search}`));
  await page.getByRole('heading', { name: 'Send a message' }).waitFor();
};
const sentList = (page: Page) => page.getByRole('list', { name: 'Recently sent' }).getByRole('listitem');
const handset = (page: Page) => page.getByRole('figure', { name: 'Phone preview' });

test('an SMS to a contact shows its parts and price, is sent, and is polled until its final status', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await open(page);
  await page.getByRole('button', { name: 'Choose a contact' }).click();
  await page.getByRole('searchbox', { name: 'Search contacts' }).fill('bianchi');
  await page.getByRole('list', { name: 'Contacts found' }).getByRole('button', { name: 'Choose' }).click();
  await page.getByText('Number of Ana Bianchi').waitFor();
  await page.getByLabel('SMS sender').fill('Acme');
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill(`“Hello”${' a long text'.repeat(8)}`);
  await page.getByText('UCS-2').waitFor();
  await page.getByText('2 parts').waitFor();
  await page.getByText('These characters require Unicode and make the text longer: “ ”').waitFor();
  await page.getByRole('definition').filter({ hasText: 'Italy' }).waitFor();
  await checkPage(window, 'send');
  await page.getByRole('button', { name: 'Replace special characters' }).click();
  await page.getByText('1 part', { exact: true }).waitFor();

  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sentList(page).getByText('Delivered').waitFor();
  await checkPage(window, 'send-sent');
  await sentList(page).getByRole('link').click();
  await page.getByRole('heading', { name: 'Message to +393335550101' }).waitFor();
  await page.getByText(`"Hello" a long text`).first().waitFor();
  expect(watch.problems()).toEqual([]);
});

test('missing and invalid values are shown at their field, and nothing is sent', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await open(page);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect.poll(() => page.getByText('Required').count()).toBe(3);
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('tel');

  await page.getByRole('textbox', { name: 'Number' }).fill('12');
  await page.getByLabel('SMS sender').fill('far too long a name');
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Hello');
  await page.getByText('The message cannot be sent yet').waitFor();
  watch.expect('400');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText(/^is not a valid phone number/).waitFor();
  await page.getByText(/^must be 1 to 11 letters/).waitFor();
  await checkPage(window, 'send-faults');
  expect(await sentList(page).count()).toBe(0);
  expect(watch.problems()).toEqual([]);
});

test('a rejected message says why, and the next attempt clears the reason', async () => {
  const quiet = { phoneNumber: '+393335550104', fullName: 'Leave me', optedOut: ['SMS'] };
  expect((await site.program.client.request('POST', `${PG}/contacts`, { body: quiet })).status).toBeLessThan(300);
  const { page, watch } = await site.signIn();
  await open(page, '?to=%2B393335550104');
  await page.getByLabel('SMS sender').fill('Acme');
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Hello');
  await page.getByText('Number: the number has opted out').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'Message not sent' }).getByText('opted out').waitFor();
  expect(await sentList(page).count()).toBe(0);
  await page.getByRole('textbox', { name: 'Number' }).fill('+39 333 555 0105');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sentList(page).getByText('Delivered').waitFor();
  await page.getByText('Message not sent').waitFor({ state: 'detached' });
  expect(watch.problems()).toEqual([]);
});

test('parameters of SMPP have a field only where the operator allows some, and a wrong one is shown there', async () => {
  const { page, watch } = await site.signIn();
  const rules = page.waitForResponse((response) => response.url().endsWith('/account/sending'));
  await open(page);
  await (await rules).finished();
  await page.getByLabel('SMS sender').fill('Acme');
  expect(await page.getByLabel('SMPP parameters').count()).toBe(0);

  const { pool, account } = site.program;
  await transaction(pool, (tx) => changeTlvTags(tx, operatorAuthor(account.accountId, 'Ada'), ['0x1400']));
  await open(page, '?to=%2B393335550106');
  await page.getByText('Allowed: 0x1400').waitFor();
  await page.getByLabel('SMS sender').fill('Acme');
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Hello');
  await page.getByLabel('SMPP parameters').fill('0x14=1');
  watch.expect('400');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('must be a tag such as 0x1400').waitFor();
  await page.getByLabel('SMPP parameters').fill('0x1400=1101');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sentList(page).getByText('Delivered').waitFor();
  expect(watch.problems()).toEqual([]);
});

testAtNight('a simulation has the outcome its number determines, and costs nothing', async () => {
  const { page, watch } = await site.signIn();
  await open(page, '?to=%2B393335550001');
  const before = await site.program.client.request('GET', `${PG}/subscription/credit`);
  await page.getByLabel('SMS sender').fill('Acme');
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Only a test');
  await page.getByRole('switch', { name: 'Simulation' }).check();
  await page.getByText('Free (simulation)').waitFor();
  await page.getByRole('button', { name: 'Simulate' }).click();
  await sentList(page).getByText('Undeliverable').waitFor();
  const after = await site.program.client.request('GET', `${PG}/subscription/credit`);
  expect(after.body).toEqual(before.body);
  expect(watch.problems()).toEqual([]);
});

testAtNight('a WhatsApp template is previewed with its values, sent, and polled', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await open(page, '?channel=WHATSAPP&to=%2B393335550102');
  await page.getByRole('combobox', { name: 'Template' }).selectOption({ label: 'sandbox_welcome (en)' });
  await handset(page).getByText('Hello {{1}}, this message').waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('Required').waitFor();
  await page.getByLabel('Value for {{1}}').fill('Ana');
  await handset(page).getByText('Hello Ana, this message').waitFor();
  await checkPage(window, 'send-whatsapp');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sentList(page)
    .getByText(/^(Delivered|Read)$/)
    .waitFor();
  expect(watch.problems()).toEqual([]);
});

testAtNight('an RCS card that is not delivered falls back to the SMS written for it', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await open(page, '?to=%2B393335550007');
  // The channel is kept in the URL, which updates the choice a moment later.
  await page.getByRole('radio', { name: 'RCS' }).click();
  await page.getByRole('radio', { name: 'RCS', checked: true }).waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('channel')).toBe('RCS');
  await page.getByRole('radio', { name: 'Card' }).check();
  await page.getByLabel('Card title').fill('Spring');
  await page.getByLabel('Card text').fill('Everything in bloom');
  await page.getByLabel('Suggested replies').fill('Yes please\nNo');
  await handset(page).getByText('Yes please').waitFor();
  await page.getByRole('checkbox', { name: 'Send an SMS' }).check();
  await page.getByLabel('SMS sender').fill('Acme');
  await page.getByLabel('SMS text').fill('Spring is here');
  await checkPage(window, 'send-rcs');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sentList(page).getByText('Not supported').waitFor();
  await page.getByText('The message’s timeline shows any fallback to the next channel.').waitFor();
  await sentList(page).getByRole('link').click();
  const steps = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
  await steps.filter({ hasText: 'Fallback to another channel' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('viewers see the reason instead of the form', async () => {
  const { page, watch } = await site.signIn(await site.person('viewer'));
  await page.goto(site.url('/send?channel=SMS&to=%2B393335550101'));
  await page.getByText('Your role is read-only here. Ask an administrator.').waitFor();
  expect(watch.problems()).toEqual([]);
});
