import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createAccount } from '../../src/operate/account-commands.ts';
import { until } from '../../test/support/until.ts';
import { checkPage, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

const PATH = '/api/partner-gateway/v1/contacts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

async function post<T>(path: string, body: object): Promise<T> {
  const answer = await site.program.client.request('POST', `${PATH}${path}`, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as T;
}
async function get<T>(path: string): Promise<T> {
  return (await site.program.client.request('GET', `${PATH}${path}`)).body as T;
}

let made = 0;
type Made = { readonly id: number; readonly phoneNumber: string };
const addContact = (body: object = {}): Promise<Made> => {
  made += 1;
  return post('', { phoneNumber: `+3933320${String(made).padStart(5, '0')}`, ...body });
};

/** Far more than the page can render, and in the full tests as many as it is made for. */
const MANY = inject('everyLayout') ? 100_000 : 10_000;

test('all of many thousand contacts can be scrolled to the end while only visible rows are rendered', async () => {
  const { pool } = site.program;
  const person = await createAccount(pool, { name: 'Large', plan: 'unlimited' });
  await pool.query(
    `INSERT INTO contact (account_id, first_name, last_name, phone_number, is_valid, channels)
     SELECT $1, 'Person', lpad(i::text, 6, '0'), '+39333' || 1000000 + i, true, 7 FROM generate_series(1, $2::int) i`,
    [person.accountId, MANY],
  );
  await pool.query('UPDATE contact_book SET contacts = contacts + $2 WHERE account_id = $1', [person.accountId, MANY]);
  await pool.query('ANALYZE contact');
  const last = String(MANY).padStart(6, '0');
  const { page, watch } = await site.signIn(person);
  await page.goto(site.url('/contacts'));
  await page.getByRole('link', { name: 'Person 000001' }).waitFor();
  await page.evaluate(
    `window.tasks = []; new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => Math.round(e.duration))))
       .observe({ entryTypes: ['longtask'] });
     window.frames = 0; (function count() { window.frames += 1; requestAnimationFrame(count); })()`,
  );
  const pane = page.getByRole('table', { name: 'Contacts' });
  await pane.hover();
  const before = await page.evaluate<number>('frames');
  for (let turn = 0; turn < 40; turn += 1) await page.mouse.wheel(0, 1500);
  await until('frames while it scrolls', async () => (await page.evaluate<number>('frames')) > before + 10);
  await expect.poll(() => page.getByRole('row').count()).toBeLessThan(80);

  await pane.locator('..').focus();
  await page.keyboard.press('End');
  await page.getByRole('link', { name: `Person ${last}` }).waitFor();
  await expect.poll(() => page.getByRole('row').count()).toBeLessThan(80);
  const long = (await page.evaluate<number[]>('tasks')).filter((duration) => duration > 200);
  if (long.length > 0) console.warn(`scripts held frames up for ${long.join(', ')} ms while the contacts scrolled`);

  await page.getByRole('searchbox', { name: 'Name, number or email' }).fill('Person 0077');
  await page.getByText('100 contacts').waitFor();
  await page.getByRole('link', { name: 'Person 007700' }).waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('Person 0077');
  expect(watch.problems()).toEqual([]);
});

test('a value is edited in its cell: Enter saves, Esc cancels, and errors are shown there', async () => {
  await post('/fields', { name: 'Town', type: 'text' });
  await post('/fields', { name: 'Stamps', type: 'number' });
  const { id } = await addContact({ fullName: 'Edit Me', email: 'edit@example.com' });
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/contacts?q=Edit+Me'));
  await edit(page, /^Email of Edit Me/, 'new@example.com', 'Enter');
  await page.getByRole('button', { name: 'Email of Edit Me: new@example.com. Edit' }).waitFor();
  await edit(page, /^Email of Edit Me/, 'never@example.com', 'Escape');
  await page.getByRole('button', { name: 'Email of Edit Me: new@example.com. Edit' }).waitFor();

  watch.expect('400');
  await edit(page, /^Email of Edit Me/, 'nonsense', 'Enter');
  await page.getByRole('alert').getByText('must be an email address').waitFor();
  await page.getByRole('tooltip').getByText('must be an email address').waitFor();
  await page.keyboard.press('Escape');
  await edit(page, /^Town of Edit Me/, 'Bari', 'Enter');
  await page.getByRole('button', { name: 'Town of Edit Me: Bari. Edit' }).waitFor();
  await edit(page, /^Stamps of Edit Me/, '12', 'Enter');
  await page.getByRole('button', { name: 'Stamps of Edit Me: 12. Edit' }).waitFor();
  await edit(page, /^Edit the name of/, 'Edited Name', 'Enter');
  await page.getByRole('link', { name: 'Edited Name' }).waitFor();
  await expect
    .poll(() => get(`/${id}`))
    .toMatchObject({
      fullName: 'Edited Name',
      email: 'new@example.com',
      customFields: { Town: 'Bari', Stamps: 12 },
    });
  expect(watch.problems()).toEqual([]);
});

async function edit(page: Page, name: RegExp, text: string, key: 'Enter' | 'Escape'): Promise<void> {
  const cell = page.getByRole('button', { name });
  await cell.focus();
  await page.keyboard.press('Enter');
  const field = page.getByRole('row').getByRole('textbox').or(page.getByRole('row').getByRole('spinbutton'));
  await field.fill(text);
  await field.press(key);
}

test('all matching contacts, and no others, are deleted once their number is typed', async () => {
  const { pool, account } = site.program;
  const kept = await addContact({ fullName: 'Kept Person' });
  await pool.query(
    `INSERT INTO contact (account_id, first_name, phone_number, is_valid, channels)
     SELECT $1, 'Doomed', '+39334' || 1000000 + i, true, 7 FROM generate_series(1, 120) i`,
    [account.accountId],
  );
  await pool.query('UPDATE contact_book SET contacts = contacts + 120 WHERE account_id = $1', [account.accountId]);
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/contacts?q=Doomed'));
  await page.getByText('120 contacts').waitFor();
  await page.getByRole('checkbox', { name: 'Select all matching contacts' }).click();
  await page.getByRole('checkbox', { name: 'Select Doomed' }).first().click();
  await page.getByText('119 selected').waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete 119 contacts?' });
  const confirm = dialog.getByRole('button', { name: 'Delete 119 contacts' });
  await dialog.getByRole('button', { name: 'Delete 119 contacts', disabled: true }).waitFor();
  await dialog.getByRole('textbox').fill('119');
  await confirm.click();
  await page.getByText('119 contacts deleted').waitFor();
  await page.getByText('1 contact', { exact: true }).waitFor();
  expect(await get('?search=Doomed')).toMatchObject({ total: 1 });
  expect(await get(`/${kept.id}`)).toMatchObject({ fullName: 'Kept Person' });
  expect(watch.problems()).toEqual([]);
});

test('matching contacts are added to a new list, and removed on its page', async () => {
  for (let n = 0; n < 3; n += 1) await addContact({ fullName: `Joiner ${n}` });
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/contacts?q=Joiner'));
  await page.getByText('3 contacts').waitFor();
  await page.getByRole('checkbox', { name: 'Select all matching contacts' }).click();
  await page.getByRole('button', { name: 'Add to list' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add 3 contacts to a list' });
  await dialog.getByRole('combobox', { name: 'List' }).click();
  await page.getByRole('option', { name: 'New list…' }).click();
  await dialog.getByRole('textbox', { name: 'New list name' }).fill('Joined');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('3 contacts added to the list').waitFor();
  await page.goto(site.url('/contacts'));
  await page.getByRole('combobox', { name: 'Any list' }).fill('oine');
  await page.getByRole('option', { name: 'Joined' }).click();
  await page.getByText('3 contacts', { exact: true }).waitFor();

  await page.goto(site.url('/lists?q=Joined'));
  await page.getByRole('link', { name: 'Joined' }).click();
  await page.getByRole('checkbox', { name: 'Select Joiner 1' }).click();
  await page.getByRole('button', { name: 'Remove from list' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByText('1 contact removed from the list').waitFor();
  await page.getByText('2 contacts', { exact: true }).waitFor();
  expect(await get('?search=Joiner')).toMatchObject({ total: 3 });
  expect(watch.problems()).toEqual([]);
});

test('on a phone, filters and actions open from buttons, which get the focus back', async () => {
  await addContact({ fullName: 'Pocket Tester', isTest: true });
  await addContact({ fullName: 'Pocket Person' });
  const { page, watch } = await site.signIn(site.owner, { width: 390, height: 844 });
  await page.goto(site.url('/contacts?q=Pocket'));
  await page.getByText('2 contacts', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'More filters' }).press('Enter');
  const pane = page.getByRole('dialog', { name: 'More filters' });
  await pane.getByRole('combobox', { name: 'Any consent' }).waitFor();
  await pane.getByRole('combobox', { name: 'Any type' }).selectOption({ label: 'Test contacts' });
  await page.getByText('1 contact', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await pane.waitFor({ state: 'detached' });
  await focused(page, 'More filters');

  await page.getByRole('checkbox', { name: 'Select Pocket Tester' }).click();
  await page.getByRole('button', { name: 'Actions', exact: true }).press('Enter');
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete 1 contact?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  await focused(page, 'Actions');
  expect(watch.problems()).toEqual([]);
});

const focused = (page: Page, text: string): Promise<void> => page.locator('button:focus').getByText(text).waitFor();

test('a list is created, renamed and deleted, and shown again among deleted lists', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/lists'));
  await page.getByRole('button', { name: 'New list' }).first().click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Fair');
  await page.getByRole('checkbox', { name: 'Test list' }).click();
  await page.getByRole('button', { name: 'Create list' }).click();
  await page.getByRole('row', { name: /Fair.*Test list/ }).waitFor();
  await page.getByRole('button', { name: 'Edit “Fair”' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Fair of Bari');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /Fair of Bari/ }).waitFor();

  await page.getByRole('button', { name: 'Delete “Fair of Bari”' }).click();
  await page
    .getByRole('dialog', { name: 'Delete the list “Fair of Bari”?' })
    .getByRole('button', { name: 'Delete list' })
    .click();
  await page.getByRole('row', { name: /Fair of Bari/ }).waitFor({ state: 'detached' });
  await page.getByRole('checkbox', { name: 'Show deleted lists' }).click();
  await page.getByRole('row', { name: /Fair of Bari.*Deleted/ }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('an opt-out shows when and by whom it was recorded, can be filtered by, and can be reversed', async () => {
  const { id } = await addContact({ firstName: 'Consent', lastName: 'Giver' });
  const { page, watch } = await site.signIn();
  await page.goto(site.url(`/contacts/${id}`));
  await page.getByRole('switch', { name: 'WhatsApp messages' }).press('Space');
  await page.getByText('Opted out by you').waitFor();
  await page.goto(site.url('/contacts?optedOut=WHATSAPP'));
  await page.getByRole('row', { name: /Consent Giver.*WhatsApp/ }).waitFor();
  await page.goto(site.url(`/contacts/${id}`));
  await page.getByText('Opted out by you').waitFor();
  await page.getByRole('switch', { name: 'WhatsApp messages' }).press('Space');
  await page.getByText('Opted in to WhatsApp messages').waitFor();
  expect(await get(`/${id}/opt-outs`)).toEqual([]);
  expect(watch.problems()).toEqual([]);
});

test('a contact is created and edited, and errors are shown at their field', async () => {
  const taken = await addContact();
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/contacts'));
  await page.getByRole('button', { name: 'New contact' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New contact' });
  await dialog.getByRole('button', { name: 'Add contact' }).click();
  await dialog.getByText('Enter a phone number or an email address').waitFor();
  await dialog.getByLabel('Phone number').fill(taken.phoneNumber);
  watch.expect('409');
  await dialog.getByRole('button', { name: 'Add contact' }).click();
  await dialog.getByText('Another contact already has this number').waitFor();
  await dialog.getByLabel('Phone number').fill('+39 333 999 0001');
  await dialog.getByLabel('First name').fill('Made');
  await dialog.getByRole('button', { name: 'Add contact' }).click();
  await page.getByRole('heading', { level: 1, name: 'Made' }).waitFor();
  await page.getByLabel('Last name').fill('Byhand');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Made Byhand' }).waitFor();
  expect(await get('?search=Byhand')).toMatchObject({ total: 1 });
  expect(watch.problems()).toEqual([]);
});

test('a custom field is deleted with its values once its name is typed', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/contacts/fields'));
  await page.getByRole('button', { name: 'New field' }).first().click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Shirt');
  await page.getByRole('combobox', { name: 'Type' }).selectOption({ label: 'Number' });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('row', { name: /Shirt.*Number/ }).waitFor();
  const { id } = await addContact({ customFields: { Shirt: 40 } });
  await page.getByRole('button', { name: 'Delete “Shirt”' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete the field “Shirt”?' });
  await dialog.getByRole('textbox').fill('Shirt');
  await dialog.getByRole('button', { name: 'Delete field and values' }).click();
  await page.getByRole('row', { name: /Shirt/ }).waitFor({ state: 'detached' });
  await expect.poll(() => get(`/${id}`)).toMatchObject({ customFields: {} });
  expect(watch.problems()).toEqual([]);
});

test('viewers see everything and can change nothing', async () => {
  const { id } = await addContact({ fullName: 'Seen Only' });
  const { page } = await site.signIn(await site.person('viewer'));
  await page.goto(site.url('/contacts?q=Seen+Only'));
  await page.getByRole('link', { name: 'Seen Only' }).waitFor();
  await page.getByRole('button', { name: 'New contact' }).hover();
  await page.getByText('Your role is read-only').waitFor();
  expect(await page.getByRole('button', { name: /^Email of/ }).count()).toBe(0);
  await page.goto(site.url(`/contacts/${id}`));
  await page.getByRole('switch', { name: 'SMS messages', disabled: true }).press('Space');
  await page.getByRole('tooltip').getByText('Your role is read-only').waitFor();
  expect(await get(`/${id}`)).toMatchObject({ optedOut: [] });
});

test('a full name next to the test badge is not cut off', async () => {
  await addContact({ fullName: 'Maria Antonietta Rossi', isTest: true });
  const { page } = await site.signIn();
  await page.goto(site.url('/contacts'));
  const link = page.getByRole('link', { name: 'Maria Antonietta Rossi' });
  await link.waitFor();
  await page.getByRole('row').filter({ has: link }).getByText('Test', { exact: true }).waitFor();
  const cutOff = (): Promise<number> => link.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  await expect.poll(cutOff).toBeLessThanOrEqual(0);
});

testAtNight('the pages of contacts are accessible and no wider than the window', async () => {
  const { id } = await addContact({ fullName: 'Pictured Person', email: 'p@example.com', optedOut: ['SMS'] });
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/contacts'));
  await page.getByRole('link', { name: 'Pictured Person' }).waitFor();
  await checkPage(window, 'contacts');
  await page.getByRole('checkbox', { name: 'Select all matching contacts' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').waitFor();
  await checkPage(window, 'contacts-delete');
  await page.goto(site.url(`/contacts/${id}`));
  await page.getByText('Opted out by you').waitFor();
  await checkPage(window, 'contact');
  await page.goto(site.url('/contacts/fields'));
  await page.getByText('New field').first().waitFor();
  await checkPage(window, 'contact-fields');
});

testAtNight('the pages of lists are accessible and no wider than the window', async () => {
  await post('/list', { name: 'For the picture', description: 'Everybody who asked for the letter', isTest: true });
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/lists'));
  await page.getByRole('link', { name: 'For the picture' }).click();
  await page.getByText('This list is empty').waitFor();
  await checkPage(window, 'list-empty');
  await page.goto(site.url('/lists'));
  await page.getByRole('link', { name: 'For the picture' }).waitFor();
  await checkPage(window, 'lists');
});

test('a contact that does not exist has a page that says so', async () => {
  const { page, watch } = await site.signIn();
  watch.expect('404');
  await page.goto(site.url('/contacts/999999999'));
  await page.getByRole('heading', { name: 'This contact does not exist' }).waitFor();
  await page.getByRole('link', { name: 'All contacts' }).click();
  await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a campaign to a list begins on the page of the list', async () => {
  const { page, watch } = await site.signIn();
  const { id } = await post<{ id: number }>('/list', { name: 'For a campaign' });
  await page.goto(site.url(`/lists/${id}`));
  await page.getByRole('link', { name: 'Send a campaign to this list' }).click();
  await page.waitForURL(/\/campaigns\/editor\?.*list=/);
  await page.goto(`${page.url()}&step=recipients`);
  await page.getByText('For a campaign', { exact: true }).first().waitFor();
  expect(watch.problems()).toEqual([]);
});

test('at 1280 pixels, phone numbers and the names of columns are shown whole', async () => {
  for (const name of ['marketing_consent_given', 'preferred_shop']) await post('/fields', { name, type: 'text' });
  await addContact({ phoneNumber: '+4915123456789', fullName: 'With a long number', isTest: true });
  const { page, watch } = await site.signIn(undefined, { width: 1280, height: 900 });
  await page.goto(site.url('/contacts?q=With+a+long'));
  const number = page.getByText('+4915123456789', { exact: true });
  await number.waitFor();
  const cut = await page.evaluate<string[]>(
    `[...document.querySelectorAll('[role=columnheader], [role=cell]')]
       .filter((cell) => cell.scrollHeight > cell.clientHeight + 1 || (/^\\+/.test(cell.innerText) && cell.scrollWidth > cell.clientWidth))
       .map((cell) => cell.innerText)`,
  );
  expect(cut).toEqual([]);
  expect(watch.problems()).toEqual([]);
});
