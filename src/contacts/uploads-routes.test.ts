import { Value } from 'typebox/value';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeMessyContacts } from '../../test/support/files/messy-contacts.ts';
import { formOf } from '../../test/support/http/form.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { updateNumberRules } from '../accounts/numbers.ts';
import { createAccount } from '../operate/account-commands.ts';
import { ColumnsOut, ImportOut, UploadOut } from './import-schema.ts';
import { deleteOldUploads, updateProgress } from './import-store.ts';

const PATH = '/api/partner-gateway/v1/contacts';
let program: TestProgram;
let client: TestProgram['client'];
let accountId: number;
beforeAll(async () => {
  program = await startTestProgram({ carriers: {} });
});
afterAll(() => program[Symbol.asyncDispose]());
beforeEach(async () => {
  const account = await createAccount(program.pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  client = program.clientOf(account.apiKey);
  accountId = account.accountId;
});

async function send(content: string | Uint8Array<ArrayBuffer>, name = 'a.csv') {
  const { status, body } = await client.request('POST', `${PATH}/uploads`, await formOf({ name, content }));
  expect(status, JSON.stringify(body)).toBe(201);
  Value.Assert(UploadOut, body);
  return body;
}

async function columns(id: number, body: object = {}) {
  const answer = await client.request('POST', `${PATH}/uploads/${id}/columns`, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  Value.Assert(ColumnsOut, answer.body);
  return answer.body;
}

async function run(id: number, body: object) {
  const answer = await client.request('POST', `${PATH}/uploads/${id}/import`, { body });
  expect([200, 202], JSON.stringify(answer.body)).toContain(answer.status);
  Value.Assert(ImportOut, answer.body);
  return answer.body;
}
const untilEnded = (id: number) =>
  until('the end of the import', async () => {
    const { body } = await client.request('GET', `${PATH}/imports/${id}`);
    Value.Assert(ImportOut, body);
    return body.completedAt !== null && body;
  });

async function contacts(): Promise<Record<string, unknown>[]> {
  const { body } = await client.request('GET', `${PATH}?limit=1000&sortBy=phoneNumber`);
  return (body as { data: Record<string, unknown>[] }).data;
}
async function rejected(id: number, query = '') {
  const { status, body } = await client.request('GET', `${PATH}/imports/${id}/rows${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as { total: number; data: { line: number; cells: string[]; faults: object[] }[] };
}

const MESSY = [
  'Cellulare;Nominativo;Mail',
  '3331781527;Anna Rossi;anna@example.it',
  '+39 333 1781528;Bruno Bianchi;no-address',
  'tel. 333 1781529;Carla Verdi;',
  '447911123456;John Smith;',
  'nothing;Dario;',
].join('\n');

test('a file is sent once, looked at, checked, cured and imported, and what each cure changes is shown before', async () => {
  const { uploadId, format, encoding } = await send(MESSY);
  expect([format, encoding]).toEqual(['csv', 'utf-8']);
  const seen = await columns(uploadId, { names: 'firstLast', limit: 1 });
  expect(seen).toMatchObject({
    fields: ['phoneNumber', 'fullName', 'email'],
    delimiter: ';',
    country: 'IT',
    names: [{ name: 'Anna Rossi', firstName: 'Anna', lastName: 'Rossi' }],
    preview: [['3331781527', 'Anna Rossi', 'anna@example.it']],
  });

  const strict = await run(uploadId, { dryRun: true, country: null });
  expect(strict.summary).toMatchObject({ total: 5, created: 0, errors: 5 });
  expect(strict.cleaning.groups).toContainEqual({
    cause: 'no_country_code',
    field: 'phoneNumber',
    rows: 2,
    samples: [
      { line: 2, value: '3331781527' },
      { line: 5, value: '447911123456' },
    ],
    cures: expect.arrayContaining([
      {
        cure: 'country',
        field: 'phoneNumber',
        country: 'IT',
        rows: 1,
        samples: [{ line: 2, before: '3331781527', after: '+393331781527' }],
      },
      {
        cure: 'plus',
        field: 'phoneNumber',
        country: null,
        rows: 1,
        samples: [{ line: 5, before: '447911123456', after: '+447911123456' }],
      },
    ]),
  });
  expect(strict.cleaning.groups).toContainEqual(
    expect.objectContaining({
      cause: 'email',
      rows: 1,
      cures: [expect.objectContaining({ cure: 'drop', field: 'email', rows: 1 })],
    }),
  );
  expect(await contacts()).toEqual([]);

  const cures = { country: 'IT', drop: ['email'], plus: true, extract: true, names: 'firstLast' };
  const cured = await run(uploadId, { ...cures, dryRun: true });
  expect(cured.summary).toMatchObject({ created: 4, errors: 1 });
  expect(cured.cleaning.changes.map(({ cure, field, country, rows }) => [cure, field, country, rows])).toEqual(
    expect.arrayContaining([
      ['country', 'phoneNumber', 'IT', 1],
      ['plus', 'phoneNumber', null, 1],
      ['extract', 'phoneNumber', null, 1],
      ['drop', 'email', null, 1],
    ]),
  );

  // The last row is rewritten by hand.
  const edits = [{ line: 6, cells: { 1: '333 1781530' } }];
  const done = await run(uploadId, { ...cures, edits });
  expect(done.summary).toMatchObject({ created: 5, errors: 0 });
  expect(await contacts()).toMatchObject([
    { phoneNumber: '+393331781527', firstName: 'Anna', lastName: 'Rossi', email: 'anna@example.it' },
    { phoneNumber: '+393331781528', firstName: 'Bruno', lastName: 'Bianchi', email: null },
    { phoneNumber: '+393331781529', firstName: 'Carla', lastName: 'Verdi' },
    { phoneNumber: '+393331781530', firstName: 'Dario', lastName: null },
    { phoneNumber: '+447911123456', firstName: 'John', lastName: 'Smith' },
  ]);
});

test('rejected rows are listed with their cells, all of them or those of one cause', async () => {
  const { uploadId } = await send(MESSY);
  const { importId } = await run(uploadId, { dryRun: true, country: 'IT' });
  expect((await rejected(importId)).total).toBe(4);
  const { total, data } = await rejected(importId, '?cause=email&field=email');
  expect([total, data]).toEqual([
    1,
    [
      {
        line: 3,
        cells: ['+39 333 1781528', 'Bruno Bianchi', 'no-address'],
        faults: [{ field: 'email', cause: 'email', message: 'is not an email address' }],
      },
    ],
  ]);
  expect((await rejected(importId, '?cause=gender')).total).toBe(0);
});

test('the account’s country is the default, and without a country numbers stay as strict as for uploads', async () => {
  await updateNumberRules(program.pool, { accountId, defaultCountry: 'IT', numberChecks: 'strict' });
  const { uploadId } = await send('phone\n3331781527\n');
  expect((await run(uploadId, { dryRun: true })).summary).toMatchObject({ created: 1 });
  expect((await run(uploadId, { dryRun: true, country: null })).summary).toMatchObject({ errors: 1 });
});

test('delimiter and encoding are detected, shown and can be changed', async () => {
  const bytes = Buffer.from('phone;name\n+393331781527;Niccol\xf2\n', 'latin1');
  const { uploadId, encoding } = await send(new Uint8Array(bytes));
  expect(encoding).toBe('windows-1252');
  expect((await columns(uploadId)).preview).toEqual([['+393331781527', 'Niccolò']]);
  expect(await columns(uploadId, { delimiter: ',', encoding: 'windows-1251', removeHead: true })).toMatchObject({
    columns: ['phone;name'],
    delimiter: ',',
    encoding: 'windows-1251',
    preview: [['+393331781527;Niccolт']],
  });
});

test('a row with a quote that is not closed, or in another encoding, costs no other row', async () => {
  const lines = [
    'phone;name',
    '+393331781521;Anna',
    '',
    '+393331781522;"Bruno',
    '+393331781523;Cità',
    '+393331781524;"Dora',
  ];
  const bytes = Buffer.concat([
    Buffer.from(`${lines.join('\n')}\n`),
    Buffer.from('+393331781525;Niccol\xf2\n', 'latin1'),
  ]);
  const { uploadId, encoding } = await send(new Uint8Array(bytes));
  expect(encoding).toBe('mixed');
  expect((await run(uploadId, {})).summary).toMatchObject({ total: 5, created: 5, errors: 0 });
  expect((await contacts()).map(({ fullName }) => fullName)).toEqual(['Anna', 'Bruno', 'Cità', 'Dora', 'Niccolò']);
});

test('a file that is imported is gone: it cannot be imported twice, and one that is not imported is deleted', async () => {
  const { uploadId } = await send('phone\n+393331781527\n');
  await run(uploadId, {});
  expect((await client.request('POST', `${PATH}/uploads/${uploadId}/import`, { body: {} })).status).toBe(404);
  expect((await client.request('POST', `${PATH}/uploads/${uploadId}/columns`, { body: {} })).status).toBe(404);
  const { rows } = await program.pool.query(
    'SELECT count(*)::int AS parts FROM contact_upload_part WHERE account_id = $1',
    [accountId],
  );
  expect(rows).toEqual([{ parts: 0 }]);
  const other = await send('phone\n+393331781528\n');
  expect((await client.request('DELETE', `${PATH}/uploads/${other.uploadId}`)).status).toBe(204);
  expect((await client.request('DELETE', `${PATH}/uploads/${other.uploadId}`)).status).toBe(404);
  expect(await deleteOldUploads(program.pool, { hours: 24 })).toBe(0);
  expect(await deleteOldUploads(program.pool, { hours: 0 })).toBeGreaterThan(0);
  expect((await client.request('GET', `${PATH}/uploads/${uploadId}`)).status).toBe(404);
});

test('only the newest five files of an account are kept', async () => {
  const sent = [];
  for (let i = 0; i < 6; i++) sent.push(await send(`phone\n+39333178152${i}\n`));
  const statuses = [];
  for (const { uploadId } of sent) statuses.push((await client.request('GET', `${PATH}/uploads/${uploadId}`)).status);
  expect(statuses).toEqual([404, 200, 200, 200, 200, 200]);
});

test('how much of a file was read is shown while it is read, and nothing afterwards', async () => {
  const { uploadId } = await send('phone\n+393331781527\n');
  await updateProgress(program.pool, { accountId, uploadId, progress: 0.5 });
  expect((await client.request('GET', `${PATH}/uploads/${uploadId}`)).body).toMatchObject({ progress: 0.5 });
  await run(uploadId, { dryRun: true });
  expect((await client.request('GET', `${PATH}/uploads/${uploadId}`)).body).toMatchObject({ progress: null });
});

test('vCards are sent, checked and imported in the same way, and have no columns', async () => {
  const { uploadId, format } = await send('BEGIN:VCARD\nVERSION:4.0\nFN:Vera\nTEL:+393337654399\nEND:VCARD\n', 'a.vcf');
  expect(format).toBe('vcard');
  expect((await client.request('POST', `${PATH}/uploads/${uploadId}/columns`, { body: {} })).status).toBe(400);
  expect((await run(uploadId, { drop: ['email'] })).summary).toMatchObject({ created: 1 });
});

test('settings that cannot be are refused with their names, and leave the file', async () => {
  const { uploadId } = await send('phone\n+393331781527\n');
  const refusal = async (body: object) =>
    (await client.request('POST', `${PATH}/uploads/${uploadId}/import`, { body })).status;
  expect(await refusal({ country: 'XX' })).toBe(400);
  expect(await refusal({ countries: ['XX'] })).toBe(400);
  expect(await refusal({ listId: 999_999_999 })).toBe(400);
  expect(await refusal({ mapping: { nothing: 'phoneNumber' } })).toBe(400);
  expect((await run(uploadId, { dryRun: true })).summary).toMatchObject({ created: 1 });
});

test('of a messy file of 12,000 rows, at least 97 % of the people are brought in, and no row is lost', async () => {
  const { bytes, rows, people } = makeMessyContacts(12_000, 7);
  const { uploadId } = await send(new Uint8Array(bytes));
  const { country } = await columns(uploadId);
  const started = await run(uploadId, { country, drop: ['email'], extract: true, names: 'firstLast' });
  expect(started.status).toBe('PENDING');
  const { summary } = await untilEnded(started.importId);
  expect(summary.total).toBe(rows);
  expect(summary.created + summary.updated + summary.skipped + summary.errors).toBe(rows);
  expect(summary.created).toBe(people);
  expect(people / rows).toBeGreaterThan(0.97);
});
