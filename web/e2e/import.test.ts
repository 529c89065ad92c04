import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { makeMessyContacts } from '../../test/support/files/messy-contacts.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

const PATH = '/api/partner-gateway/v1/contacts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

async function get<T>(path: string): Promise<T> {
  return (await site.program.client.request('GET', `${PATH}${path}`)).body as T;
}

async function choose(page: Page, name: string, content: string): Promise<void> {
  await page.goto(site.url('/contacts/import'));
  const mimeType = 'application/octet-stream';
  await page.getByLabel('File', { exact: true }).setInputFiles({ name, mimeType, buffer: Buffer.from(content) });
}
const next = (page: Page) => page.getByRole('button', { name: 'Next', exact: true }).click();

const PEOPLE = [
  'Mobile;Telephone;First name;Mail;Shoe size',
  '+39 333 765 4321;0612345678;Anna;anna@example.com;38',
  '333;;Bruno;bruno@example.com;44',
  '+39 333 765 4322;;Carla;no-address;41',
  '+39 333 765 4321;;Anna again;anna@example.com;38',
  '+39 333 765 4323;;Dario;;40',
].join('\n');

test('a file with errors is checked and imported without the rejected rows, which can be downloaded', async () => {
  const window = await site.signIn();
  const { page } = window;
  await choose(page, 'people.csv', PEOPLE);
  await page.getByRole('combobox', { name: 'Add the contacts to a list' }).click();
  await page.getByRole('option', { name: 'New list…' }).click();
  await page.getByRole('textbox', { name: 'New list name' }).fill('From the file');
  await page.getByText('people.csv').first().waitFor();
  await checkPage(window, 'import-file');
  await next(page);

  // Two columns have numbers: the mobile comes first. No other field may have two.
  await page.getByText('Several columns are set as the phone number').waitFor();
  const first = page.getByRole('combobox', { name: 'Import “First name” as' });
  await first.selectOption('email');
  await page.getByText('Two columns are set to the same field').waitFor();
  await checkPage(window, 'import-columns');
  await first.selectOption('firstName');
  await page.getByRole('combobox', { name: 'Import “Shoe size” as' }).selectOption({ label: 'New field “Shoe_size”' });
  await next(page);

  const problems = page.getByRole('list', { name: 'Problems' });
  await problems.getByText('1 number without a country code').waitFor();
  await problems.getByText('1 duplicate: the first row with the number counts').waitFor();
  const changes = page.getByRole('list', { name: 'Changes made during the import' });
  await changes.getByText('Email: 1 invalid value is omitted, the contact is imported').waitFor();
  await changes.getByText('no-address → omitted').waitFor();
  expect(await get('')).toMatchObject({ total: 0 });
  expect(await get('/list')).toMatchObject({ total: 0 });
  await checkPage(window, 'import-check');

  await page.getByRole('button', { name: 'Import 3 contacts' }).click();
  await page.getByRole('link', { name: 'View list' }).waitFor();
  await checkPage(window, 'import-done');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download these rows' }).click(),
  ]);
  const rejected = (await readFile(await download.path(), 'utf8')).trim().split(/\r?\n/);
  expect(rejected).toHaveLength(3);
  expect(rejected[0]).toContain('importError');
  expect(rejected.slice(1).map((line) => line.match(/Bruno|Anna again/)?.[0])).toEqual(['Bruno', 'Anna again']);
  await page.getByRole('link', { name: 'View list' }).click();
  await page.getByRole('heading', { level: 1, name: 'From the file' }).waitFor();
  await page.getByRole('link', { name: 'Anna', exact: true }).waitFor();
  const { data } = await get<{ data: { firstName: string; customFields: object }[] }>('?sortBy=firstName');
  expect(data.map(({ firstName, customFields }) => [firstName, customFields])).toEqual([
    ['Anna', { Shoe_size: '38' }],
    ['Carla', { Shoe_size: '41' }],
    ['Dario', { Shoe_size: '40' }],
  ]);
  expect(window.watch.problems()).toEqual([]);
});

test('a messy file of 5,000 rows is cleaned with one click more than a clean one, and its file travels once', async () => {
  const window = await site.signIn();
  const { page } = window;
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.headers()['content-type']?.startsWith('multipart/')) sent.push(request.url());
  });
  const { bytes, rows, people } = makeMessyContacts(5000, 7);
  await page.goto(site.url('/contacts/import'));
  const before = (await get<{ total: number }>('')).total;
  await page
    .getByLabel('File', { exact: true })
    .setInputFiles({ name: 'customers.csv', mimeType: 'text/csv', buffer: bytes });
  // Guessed from the file, and nothing to choose.
  const country = page.getByRole('combobox', { name: 'Country of the phone numbers' });
  await expect.poll(() => country.inputValue()).toBe('IT');
  const encoding = page.getByRole('combobox', { name: 'Encoding' });
  await expect.poll(() => encoding.inputValue()).toBe('windows-1252');
  expect(await page.getByRole('combobox', { name: 'Delimiter' }).inputValue()).toBe(';');
  await checkPage(window, 'import-messy-file');
  await next(page);

  await expect.poll(() => page.getByRole('combobox', { name: 'Names' }).inputValue()).toBe('firstLast');
  await page
    .getByText(/→ first name .*, last name /)
    .first()
    .waitFor();
  await checkPage(window, 'import-messy-columns');
  await next(page);

  // The one click more: numbers within a text. What it changes is shown next to it.
  const problems = page.getByRole('list', { name: 'Problems' });
  await problems
    .getByText(/^tel\. 333 .* → \+39333\d+$/)
    .first()
    .waitFor();
  await checkPage(window, 'import-messy-check');
  await problems.getByRole('button', { name: /^Use the number in the text/ }).click();
  const go = page.getByRole('button', { name: `Import ${people.toLocaleString('en-GB')} contacts` });
  await go.waitFor();
  await checkPage(window, 'import-messy-cured');
  await go.click();
  await page.getByText('Completed', { exact: true }).waitFor();
  const { total } = await get<{ total: number }>('');
  expect(total - before).toBe(people);
  expect(people / rows).toBeGreaterThanOrEqual(0.97);
  expect(sent).toHaveLength(1);
  const { data } = await get<{ data: { firstName: string; lastName: string; customFields: object }[] }>(
    '?search=Chlo%C3%A9&limit=1',
  );
  expect(data[0]).toMatchObject({ firstName: 'Chloé', customFields: { Citta: 'Forlì' } });
  expect(window.watch.problems()).toEqual([]);
});

test('rows are corrected in the browser, and a country and the order of dates are chosen by clicks on cures', async () => {
  const window = await site.signIn();
  const { page } = window;
  await site.program.client.request('POST', `${PATH}/fields`, { body: { name: 'Birth_date', type: 'date' } });
  const rows = [
    'phone,mail,Birth_date',
    '3391781527,a@example.it,1990-02-28',
    '333,b@example.it,',
    '+49 151 12345670,c@example.com,28.2.1990',
  ];
  await choose(page, 'few.csv', rows.join('\n'));
  const country = page.getByRole('combobox', { name: 'Country of the phone numbers' });
  await country.selectOption({ label: 'None: reject numbers without a country code' });
  await next(page);
  await page.getByRole('combobox', { name: 'Import “phone” as' }).waitFor();
  await next(page);
  const problems = page.getByRole('list', { name: 'Problems' });
  await problems.getByText('3391781527 → +393391781527').waitFor();
  await problems.getByRole('button', { name: 'Read as Italy (1 row)' }).click();
  await problems.getByText('28.2.1990 → 1990-02-28').waitFor();
  await problems.getByRole('button', { name: 'Read as day, month, year (1 row)' }).click();
  await page.getByRole('button', { name: 'Import 2 contacts' }).waitFor();
  await page.getByText('Birth date: 1 date is read as day, month, year').waitFor();
  await problems.getByRole('button', { name: 'Fix rows' }).click();
  await page.getByRole('textbox', { name: 'Value in row 3' }).fill('+39 339 1781528');
  await checkPage(window, 'import-fix-rows');
  await page.getByRole('button', { name: 'Check again' }).click();
  await page.getByRole('button', { name: 'Import 3 contacts' }).click();
  await page.getByText('Completed', { exact: true }).waitFor();
  expect(await get('?search=3391781528')).toMatchObject({ total: 1 });
  expect(await get('?search=4915112345670')).toMatchObject({ data: [{ customFields: { Birth_date: '1990-02-28' } }] });
  expect(window.watch.problems()).toEqual([]);
});

/** More than one chunk; in the full tests, enough for some steps of the progress. */
const LARGE = inject('everyLayout') ? 6000 : 3000;

test('a large import shows its progress, and is found again by its URL', async () => {
  const { page, watch } = await site.signIn();
  const rows = Array.from({ length: LARGE }, (_, i) => `+39335${1_000_000 + i},Large ${i}`);
  await choose(page, 'large.csv', ['phone,full name', ...rows].join('\n'));
  await next(page);
  await page.getByRole('combobox', { name: 'Import “phone” as' }).waitFor();
  await next(page);
  await page.getByRole('button', { name: `Import ${LARGE.toLocaleString('en-GB')} contacts` }).click();
  await page.getByText('Completed', { exact: true }).waitFor();
  expect(await get('?search=Large')).toMatchObject({ total: LARGE });
  await page.reload();
  await page.getByRole('heading', { name: 'large.csv' }).waitFor();
  await page.getByText('Completed', { exact: true }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('vCards need no column step', async () => {
  const { page, watch } = await site.signIn();
  await choose(page, 'card.vcf', 'BEGIN:VCARD\nVERSION:4.0\nFN:Vera Card\nTEL:+393337654399\nEND:VCARD\n');
  await next(page);
  await page.getByRole('button', { name: 'Import 1 contact' }).click();
  await page.getByRole('link', { name: 'View contacts' }).waitFor();
  expect(await get('?search=Vera')).toMatchObject({ total: 1 });
  expect(watch.problems()).toEqual([]);
});

test('an invalid file is rejected with a reason, and another can be chosen', async () => {
  const { page, watch } = await site.signIn();
  watch.expect('400');
  await choose(page, 'picture.csv', '\u0000\u0001\u0002\u0003');
  await page.getByRole('alert').getByText('This file cannot be read').waitFor();
  await page.getByRole('button', { name: 'Next', exact: true, disabled: true }).waitFor();
  await page
    .getByLabel('File', { exact: true })
    .setInputFiles({ name: 'good.csv', mimeType: 'text/csv', buffer: Buffer.from('phone\n+393337654390\n') });
  await page.getByText('good.csv').first().waitFor();
  await next(page);
  await page.getByRole('combobox', { name: 'Import “phone” as' }).waitFor();
  expect(watch.problems()).toEqual([]);
});
