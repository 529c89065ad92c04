import { writeXlsx } from 'hucre/xlsx';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Client } from '../../test/support/client.ts';
import { formOf } from '../../test/support/http/form.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { updateNumberRules } from '../accounts/numbers.ts';
import { createAccount, type NewAccount } from '../operate/account-commands.ts';
import { ImportOut } from './import-schema.ts';
import { updateLimits } from './limits.ts';

const PATH = '/api/partner-gateway/v1/contacts';
let program: TestProgram;
let account: NewAccount;
let client: Client;
beforeAll(async () => {
  program = await startTestProgram({ carriers: {} });
});
afterAll(() => program[Symbol.asyncDispose]());
beforeEach(async () => {
  account = await createAccount(program.pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  client = program.clientOf(account.apiKey);
});

type Fields = Readonly<Record<string, string | number | boolean>>;
type Content = string | Uint8Array<ArrayBuffer>;
async function upload(content: Content, fields: Fields = {}, { name = 'a.csv', path = '/upload', headers = {} } = {}) {
  const form = await formOf({ name, content }, fields);
  return client.request('POST', PATH + path, { bytes: form.bytes, headers: { ...form.headers, ...headers } });
}

/** Uploads a file that must be accepted. */
async function bringIn(...args: Parameters<typeof upload>) {
  const { status, body } = await upload(...args);
  expect([200, 202], JSON.stringify(body)).toContain(status);
  Value.Assert(ImportOut, body);
  return body;
}

/** Uploads a file that must be rejected and leave nothing behind. */
async function refuse(...args: Parameters<typeof upload>) {
  const { status, body } = await upload(...args);
  expect(status, JSON.stringify(body)).toBeGreaterThanOrEqual(400);
  expect(await client.request('GET', `${PATH}/imports`)).toMatchObject({ body: { total: 0 } });
  expect(await contacts()).toEqual([]);
  return `${status} ${(body as { message: string }).message}`;
}

async function get(path: string) {
  const { status, body } = await client.request('GET', PATH + path);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}
async function contacts(query = ''): Promise<Record<string, unknown>[]> {
  return ((await get(`?limit=1000&sortBy=phoneNumber${query}`)) as { data: Record<string, unknown>[] }).data;
}
const untilEnded = (id: number) =>
  until('the end of the import', async () => {
    const found = await get(`/imports/${id}`);
    Value.Assert(ImportOut, found);
    return found.completedAt !== null && found;
  });
async function createList(): Promise<number> {
  const { body } = await client.request('POST', `${PATH}/list`, { body: { name: 'List' } });
  return (body as { id: number }).id;
}

test('a small file is imported at once: contacts, custom fields, list, summary, faults by line', async () => {
  const listId = await createList();
  const csv = [
    'Phone Number;First name;City;Opted out',
    '+393331234567;Anna;Roma;',
    '+393331234568;Bert;;SMS',
    '333;Carla;Pisa;',
    '+39 333 123 4567;Dora;;',
    '',
  ].join('\r\n');
  const made = await bringIn(csv, { listId, fileName: 'people.csv', limit: 1 });
  expect(made).toMatchObject({
    status: 'COMPLETED',
    fileName: 'people.csv',
    listId,
    dryRun: false,
    progress: 1,
    failureReason: null,
    columns: ['Phone Number', 'First name', 'City', 'Opted out'],
    fields: ['phoneNumber', 'firstName', 'customField.City', 'optedOut'],
    preview: [['+393331234567', 'Anna', 'Roma', '']],
    summary: { total: 4, created: 2, updated: 0, skipped: 1, errors: 1 },
    errors: [
      { line: 4, field: 'phoneNumber', message: expect.stringContaining('has no country code') },
      { line: 5, field: 'phoneNumber', message: 'has the same number as line 2' },
    ],
  });
  expect(await contacts(`&listIds=${listId}`)).toMatchObject([
    { phoneNumber: '+393331234567', firstName: 'Anna', customFields: { City: 'Roma' }, optedOut: [], isValid: true },
    { phoneNumber: '+393331234568', firstName: 'Bert', customFields: {}, optedOut: ['SMS'], numberType: 'MOBILE' },
  ]);
  expect(await get(`/imports/${made.importId}`)).toEqual(made);
  const { columns, fields, preview, errors, cleaning, ...brief } = made;
  expect([columns, fields, preview, errors, cleaning.groups].every(Array.isArray)).toBe(true);
  expect(await get('/imports')).toEqual({ data: [brief], page: 0, limit: 10, total: 1 });
  const { body } = await client.request('GET', '/api/partner-gateway/v1/audit');
  expect(body).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ subject: `contact-import:${made.importId}` })]),
  });
});

test('a second file changes contacts by number where it has values; opt-outs stay', async () => {
  await bringIn('phone,first name,email,opted out\n+393331234567,Anna,a@example.com,yes\n');
  const { summary } = await bringIn('phone,last name,email,opted out\n+393331234567,Rossi,,no\n+393331234568,B,,\n');
  expect(summary).toEqual({ total: 2, created: 1, updated: 1, skipped: 0, errors: 0 });
  expect(await contacts()).toMatchObject([
    { firstName: 'Anna', lastName: 'Rossi', email: 'a@example.com', optedOut: ['SMS', 'RCS', 'WHATSAPP'] },
    { lastName: 'B' },
  ]);
});

test('a dry run reports what would happen and writes no contact', async () => {
  await bringIn('phone\n+393331234567\n');
  await updateLimits(program.pool, { accountId: account.accountId, planLimit: 2, extraLimit: 0 });
  const listId = await createList();
  const csv = 'phone,shoe\n+393331234567,1\n+393331234568,2\n+393331234569,3\nx,4\n';
  const made = await bringIn(csv, { dryRun: true, listId });
  expect(made).toMatchObject({
    status: 'COMPLETED',
    dryRun: true,
    fields: ['phoneNumber', 'customField.shoe'],
    summary: { total: 4, created: 1, updated: 1, skipped: 0, errors: 2 },
  });
  expect(await contacts()).toHaveLength(1);
  expect(await get('/fields')).toEqual([]);
  expect(await get(`/list/${listId}`)).toMatchObject({ contactCount: 0 });
});

test('the contact limit holds: the first new contacts are created, and the others are reported', async () => {
  await updateLimits(program.pool, { accountId: account.accountId, planLimit: 1, extraLimit: 1 });
  const { summary, errors } = await bringIn('phone\n+393331234561\n+393331234562\n+393331234563\n');
  expect(summary).toEqual({ total: 3, created: 2, updated: 0, skipped: 0, errors: 1 });
  expect(errors).toEqual([{ line: 4, field: 'row', message: 'the contact limit of the plan is reached' }]);
});

test('national numbers are read by the country of the account', async () => {
  const rules = { defaultCountry: 'IT', numberChecks: 'strict' } as const;
  await updateNumberRules(program.pool, { accountId: account.accountId, ...rules });
  await bringIn('phone\n333 1234567\n');
  expect(await contacts()).toMatchObject([{ phoneNumber: '+393331234567' }]);
});

test('a large file waits for a worker, shows its progress, and is imported completely', async () => {
  const listId = await createList();
  const rows = Array.from({ length: 7000 }, (_, i) => `+39333${2_000_000 + i},N${i}${i % 1000 === 0 ? ',more' : ''}`);
  const { status, body } = await upload(`phone,name\n${rows.join('\n')}\n`, { listId });
  expect([status, body]).toMatchObject([202, { status: 'PENDING', progress: 0, errors: [], summary: { total: 7000 } }]);
  const done = await untilEnded((body as { importId: number }).importId);
  expect(done).toMatchObject({ status: 'COMPLETED', progress: 1, failureReason: null });
  expect(done.summary).toEqual({ total: 7000, created: 6993, updated: 0, skipped: 0, errors: 7 });
  expect(done.errors.map(({ line }) => line)).toEqual([2, 1002, 2002, 3002, 4002, 5002, 6002]);
  expect(await get(`/list/${listId}`)).toMatchObject({ contactCount: 6993 });
});

test('an XLSX file is imported like a CSV file', async () => {
  const rows = [
    ['Mobile', 'Full name', 'Points'],
    [393331234567, 'Żółć', 7],
    ['+393331234568', null, '=1+1'],
  ];
  const content = new Uint8Array(await writeXlsx({ sheets: [{ name: 'S', rows }] }));
  // A spreadsheet keeps a number without its plus: it is read as one of the account's country.
  await updateNumberRules(program.pool, { ...account, defaultCountry: 'IT', numberChecks: 'strict' });
  const { summary } = await bringIn(content, {}, { name: 'a.xlsx' });
  expect(summary).toMatchObject({ created: 2, errors: 0 });
  expect(await contacts()).toMatchObject([
    { phoneNumber: '+393331234567', fullName: 'Żółć', customFields: { Points: '7' } },
    { phoneNumber: '+393331234568', customFields: { Points: '=1+1' } },
  ]);
});

test('vCards have their own upload', async () => {
  const cards = 'BEGIN:VCARD\nFN:Anna\nTEL;CELL:+393331234567\nEND:VCARD\nBEGIN:VCARD\nFN:Nobody\nEND:VCARD\n';
  const made = await bringIn(cards, {}, { name: 'a.vcf', path: '/upload/vcard' });
  expect(made).toMatchObject({ summary: { created: 1, errors: 1 }, errors: [{ line: 5, field: 'phoneNumber' }] });
  expect(await contacts()).toMatchObject([{ fullName: 'Anna', phoneNumber: '+393331234567' }]);
});

test('the rejected rows are a CSV file that can be corrected and sent again, and no cell of it is a formula', async () => {
  const { importId } = await bringIn(
    'phone,name,note\n+393331234567,A,\nx,"=1+1, ""x""",-7\n,B,@y\n+39 333 1234567,C,\n',
  );
  const { status, headers, body } = await client.request('GET', `${PATH}/imports/${importId}/rejects`);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  expect(headers.get('content-disposition')).toBe(`attachment; filename="rejects-${importId}.csv"`);
  const notANumber = 'phoneNumber is not a valid phone number: write it with + and the country code';
  const missing = 'phoneNumber is missing: imported contacts are identified by their numbers';
  expect(body).toBe(
    [
      'phone,name,note,importLine,importError',
      `x,"'=1+1, ""x""","'-7",3,${notANumber}`,
      `,B,"'@y",4,${missing}`,
      `"'+39 333 1234567",C,,5,phoneNumber has the same number as line 2`,
      '',
    ].join('\r\n'),
  );
  const corrected = String(body).replace(/^x,/m, '+393331234569,');
  expect((await bringIn(corrected)).summary).toMatchObject({ total: 3, created: 1, updated: 1, skipped: 0, errors: 1 });
});

test('with an Idempotency-Key a file is imported once, and the response is repeated', async () => {
  const headers = { 'idempotency-key': 'once' };
  const form = await formOf({ name: 'a.csv', content: 'phone\n+393331234567\n' });
  const send = () =>
    client.request('POST', `${PATH}/upload`, { bytes: form.bytes, headers: { ...form.headers, ...headers } });
  const first = await send();
  const again = await send();
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect([again.status, again.body]).toEqual([200, first.body]);
  expect(await get('/imports')).toMatchObject({ total: 1 });
  expect((await upload('phone\n+393331234568\n', {}, { headers })).status).toBe(409);
});

test('an unknown field of the form is named in the response, and strict handling refuses it', async () => {
  const listId = await createList();
  const strict = { prefer: 'handling=strict' };
  expect(await refuse('phone\n+393331234567', { listIds: listId }, { headers: strict })).toContain('listIds');
  expect(await bringIn('phone\n+393331234567', { listIds: listId })).toMatchObject({
    listId: null,
    warnings: ['unknown field listIds: did you mean listId?'],
  });
});

test('an import of another account looks like an unknown one, and a list of another account is unknown', async () => {
  const { importId } = await bringIn('phone\nx\n');
  const listId = await createList();
  const other = await createAccount(program.pool, { name: 'Other', plan: 'unlimited' });
  client = program.clientOf(other.apiKey);
  for (const path of [`/imports/${importId}`, `/imports/${importId}/rejects`]) {
    const { status, body } = await client.request('GET', PATH + path);
    expect([status, body]).toMatchObject([404, { message: 'Not found' }]);
  }
  expect(await refuse('phone\n+393331234567\n', { listId })).toBe(`400 The list ${listId} does not exist`);
  expect(await refuse('phone\n+393331234567\n', { listId: 9_000_000 })).toBe('400 The list 9000000 does not exist');
});

const BAD_FILES: [what: string, content: string, options: { name?: string }, says: string][] = [
  ['an empty file', '', {}, '400 file: is empty'],
  [
    'a picture',
    'x',
    { name: 'a.png' },
    '400 file: must be a CSV or XLSX file (.csv, .tsv, .txt, .xlsx), as its name says',
  ],
  ['a quote that is not closed', 'phone\n+393331234567\n"x\n', {}, '400 file: line 3: a quote is not closed'],
];
test.each(BAD_FILES)('%s is refused with its reason, and nothing stays', async (_, content, options, says) => {
  expect(await refuse(content, {}, options)).toBe(says);
});

test('the preview shows how a file begins, what its columns would become, and what a mapping must resolve', async () => {
  const csv =
    'Mobile,Telephone,Name,Full name,Shoe size\n+393331234567,0612345678,Anna,A.,38\n+393331234568,,Bert,B.,41\n';
  const begun = (fields: Fields) => upload(csv, { limit: 1, ...fields }, { path: '/upload/columns' });
  expect(await begun({})).toMatchObject({
    status: 200,
    body: {
      columns: ['Mobile', 'Telephone', 'Name', 'Full name', 'Shoe size'],
      fields: ['phoneNumber', 'phoneNumber', 'fullName', 'fullName', 'customField.Shoe_size'],
      hasHead: true,
      preview: [['+393331234567', '0612345678', 'Anna', 'A.', '38']],
      faults: [{ field: 'file', message: expect.stringContaining('have the same field') }],
    },
  });
  expect(await begun({ mapping: '{"2":null,"4":null,"5":"customField.shoes"}' })).toMatchObject({
    body: { fields: ['phoneNumber', null, 'fullName', null, 'customField.shoes'], faults: [] },
  });
  expect(await begun({ removeHead: false })).toMatchObject({
    body: {
      columns: ['column 1', 'column 2', 'column 3', 'column 4', 'column 5'],
      hasHead: false,
      preview: [['Mobile', 'Telephone', 'Name', 'Full name', 'Shoe size']],
    },
  });
  expect(await upload('\n\n', {}, { path: '/upload/columns' })).toMatchObject({ status: 400 });
  expect((await begun({ mapping: '[1]' })).status).toBe(400);
  expect(await get('/imports')).toMatchObject({ total: 0 });
  expect(await get('/fields')).toEqual([]);
});

test('every faulty field of the form is reported', async () => {
  const fields = {
    removeHead: 'maybe',
    limit: 101,
    listId: 'x',
    dryRun: 'no!',
    mapping: '[1]',
    fileName: 'x'.repeat(256),
  };
  const { status, body } = await upload('phone\n+393331234567\n', fields);
  expect([status, (body as { details: { field: string }[] }).details.map(({ field }) => field)]).toEqual([
    400,
    ['fileName', 'removeHead', 'limit', 'listId', 'dryRun', 'mapping'],
  ]);
});

test('a body that is not a form is 415, a form without a file 400, and one with two files 413', async () => {
  const send = (body: string, type: string) =>
    client.request('POST', `${PATH}/upload`, { body, headers: { 'content-type': type } });
  expect((await send('{}', 'application/json')).status).toBe(415);
  expect((await send('a', 'multipart/form-data')).status).toBe(400);
  const part = (name: string, file: string) =>
    `--x\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\nphone\n+393331234567\r\n`;
  const form = (...parts: string[]) => send(`${parts.join('')}--x--\r\n`, 'multipart/form-data; boundary=x');
  const file = '; filename="a.csv"';
  expect(await form(part('file', ''))).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('is required') },
  });
  expect(await form(part('other', file))).toMatchObject({
    status: 400,
    body: { message: 'other: must not be a file: send the file in the part "file"' },
  });
  expect((await form(part('file', file), part('file', file))).status).toBe(413);
  expect((await form(...Array.from({ length: 30 }, (_, i) => part(`f${i}`, '')), part('file', file))).status).toBe(413);
  expect(await contacts()).toEqual([]);
});

test('a key without the scope is 403', async () => {
  const { body } = await client.request('POST', '/api/partner-gateway/v1/authentication', {
    body: { operations: ['SMS'] },
  });
  client = program.clientOf((body as { apiKey: string }).apiKey);
  expect((await upload('phone\n+393331234567\n')).status).toBe(403);
});
