import { expect, test } from 'vitest';
import { DEFAULT_NUMBER_RULES } from '../core/phone.ts';
import type { FieldRow } from './fields.ts';
import { checkTable, type Table, type TableOptions } from './import-check.ts';
import { NO_CLEANING } from './import-cleaning.ts';

const createdAt = new Date(0);
const field = (id: number, name: string, type: FieldRow['type']): FieldRow => ({
  id,
  name,
  type,
  description: '',
  createdAt,
});
const DEFAULTS: TableOptions = {
  removeHead: null,
  mapping: {},
  fields: [],
  rules: DEFAULT_NUMBER_RULES,
  previewRows: 10,
};

async function check(rows: string[][], options: Partial<TableOptions> = {}) {
  async function* source() {
    for (const [i, cells] of rows.entries()) yield { line: i + 1, cells };
  }
  let table: Table | undefined;
  const checked = await Array.fromAsync(checkTable(source(), { ...DEFAULTS, ...options }, (made) => (table = made)));
  return { table, checked };
}
const faultsOf = async (rows: string[][], options?: Partial<TableOptions>) =>
  (await check(rows, options)).checked.map((row) =>
    'faults' in row ? row.faults.map(({ field: name, message }) => `${name} ${message}`).join('; ') : 'good',
  );

test('of several numbers or addresses in a cell, as Google Contacts writes them, the first good one counts', async () => {
  const rows = [
    ['Phone 1 - Value', 'E-mail 1 - Value'],
    ['+39 333 123 4567 ::: +39 333 123 4568', 'a@example.com ::: b@example.com'],
    ['12 ::: +39 333 123 4569', 'not one ::: c@example.com'],
    ['12 ::: 13', 'not one ::: nor this'],
  ];
  const { checked } = await check(rows);
  expect(checked.slice(0, 2)).toMatchObject([
    { cells: ['+393331234567', 'a@example.com'] },
    { cells: ['+393331234569', 'c@example.com'] },
  ]);
  expect((await faultsOf(rows))[2]).toMatch(/^phoneNumber .*; email is not an email address$/);
});

test.each([
  ['the one that is labelled as a mobile', ['Work', '+1 415 555 2671', 'Mobile', '+1 415 555 2672'], '+14155552672'],
  ['a mobile by its plan', ['Home', '+39 06 1234567', '', '+39 333 123 4567'], '+393331234567'],
  [
    'a mobile by its plan before a landline that has the label',
    ['Mobile', '+39 06 1234567', 'Work', '+393331234567'],
    '+393331234567',
  ],
  ['the first of equals', ['Work', '+1 415 555 2671', 'Home', '+1 415 555 2672'], '+14155552671'],
  ['a landline before a fax', ['Work Fax', '+39 333 123 4567', 'Work', '+39 06 1234567'], '+39061234567'],
  ['one that can be read', ['Mobile', '12', 'Home', '+39 06 1234567'], '+39061234567'],
  ['the only one', ['', '', '* Mobile', '+39 333 123 4567'], '+393331234567'],
])('of the numbers of a row %s is taken', async (_, row, number) => {
  const head = ['Phone 1 - Label', 'Phone 1 - Value', 'Phone 2 - Label', 'Phone 2 - Value'];
  expect((await check([head, [...row]])).checked).toMatchObject([{ phone: { e164: number } }]);
});

test('the column of mobiles comes before the others, as Outlook has them, and the fault is that of the first number', async () => {
  const rows = [
    ['Home Phone', 'Mobile Phone', 'Primary Phone', 'First Name'],
    ['+1 415 555 2671', '+1 415 555 2672', '+1 415 555 2671'],
    ['', '', '+1 415 555 2673'],
    ['', '12', '+'],
    ['', '', '', 'Anna'],
  ];
  const { checked } = await check(rows);
  expect(checked.slice(0, 2)).toMatchObject([{ phone: { e164: '+14155552672' } }, { phone: { e164: '+14155552673' } }]);
  const faults = (await faultsOf(rows)).slice(2);
  expect(faults).toEqual([expect.stringContaining('no country code'), expect.stringContaining('is missing')]);
});

test('a good row has its cells as contacts store them', async () => {
  const head = ['phone', 'name', 'mail', 'gender', 'test', 'opted out', 'points', 'vip', 'born', 'new'];
  const fields = [field(1, 'points', 'number'), field(2, 'vip', 'boolean'), field(3, 'born', 'date')];
  const row = [
    ' +39 333 123-4567 ',
    ' Anna ',
    'A@Example.COM',
    'f',
    'yes',
    'sms; RCS',
    '7.5',
    'true',
    '1990-02-28',
    ' x ',
  ];
  const { checked } = await check([head, row], { fields });
  expect(checked).toEqual([
    {
      line: 2,
      cells: ['+393331234567', 'Anna', 'a@example.com', 'FEMALE', true, 'SMS,RCS', 7.5, true, '1990-02-28', 'x'],
      phone: { e164: '+393331234567', isValid: true, type: 'MOBILE', country: 'IT' },
    },
  ]);
});

test('every fault of a row is reported, and the row comes back as it was', async () => {
  const head = ['phone', 'first name', 'mail', 'gender', 'test', 'opted out', 'points', 'born'];
  const fields = [field(1, 'points', 'number'), field(2, 'born', 'date')];
  const row = ['12', 'x'.repeat(101), 'nobody', 'woman', 'perhaps', 'PIGEON', 'many', '28.2.1990', 'more'];
  const { checked } = await check([head, row], { fields });
  expect(checked).toEqual([{ line: 2, cells: row.slice(0, 8), faults: expect.any(Array) }]);
  expect(await faultsOf([head, row], { fields })).toEqual([
    'row has 9 cells, more than the 8 columns; phoneNumber has no country code: write it with + and the country code; ' +
      'firstName must have at most 100 characters; email is not an email address; gender must be MALE, FEMALE or OTHER; ' +
      'isTest must be true or false; optedOut must be channels (SMS, RCS, WHATSAPP), true or false; ' +
      'customFields.points must be a number; customFields.born must be a date (yyyy-MM-dd)',
  ]);
});

test('an opt-out that names an unknown channel is a fault, also next to known channels', async () => {
  const optOuts = ['SMS', 'sms; rcs', 'SMS, SMS', 'SMS, FOO', 'FOO;RCS', 'yes, SMS', 'SMSRCS'];
  const rows = optOuts.map((cell, i) => [`+39333123456${i}`, cell]);
  const fault = 'optedOut must be channels (SMS, RCS, WHATSAPP), true or false';
  expect(await faultsOf([['phone', 'opted out'], ...rows])).toEqual(['good', 'good', 'good', ...Array(4).fill(fault)]);
});

test('a row without a number is faulty, an empty row is ignored, and what cannot be stored is shown as U+FFFD', async () => {
  const { checked } = await check([
    ['phone', 'name'],
    ['', 'Anna'],
    ['', ' '],
    ['+393331234567', 'a\0b'],
  ]);
  expect(checked).toEqual([
    {
      line: 2,
      cells: ['', 'Anna'],
      faults: [{ field: 'phoneNumber', cause: 'number_missing', message: expect.stringContaining('is missing') }],
    },
    {
      line: 4,
      cells: ['+393331234567', 'a\ufffdb'],
      faults: [{ field: 'fullName', cause: 'characters', message: 'contains invalid characters' }],
    },
  ]);
});

test('national numbers are those of the account’s country; without a country they are faults', async () => {
  const rows = [['phone'], ['333 1234567'], ['0039 333 1234567'], ['+39-333-1234567'], ['(06) 698 1234'], ['0']];
  const { checked } = await check(rows, { rules: { ...DEFAULT_NUMBER_RULES, defaultCountry: 'IT' } });
  expect(checked.map((row) => ('phone' in row ? row.phone.e164 : row.faults[0]?.message))).toEqual([
    '+393331234567',
    'has the same number as line 2',
    'has the same number as line 2',
    '+39066981234',
    'is too short or too long for its country',
  ]);
  expect((await faultsOf(rows)).filter((faults) => faults === 'good')).toHaveLength(1);
});

test('of several rows with one number, the first good one counts', async () => {
  const rows = [
    ['phone', 'mail'],
    ['+393331234567', 'bad'],
    ['+393331234567', ''],
    ['+39 3331234567', ''],
  ];
  const { checked } = await check(rows);
  expect(checked.map((row) => ('doubled' in row ? 'double' : 'faults' in row ? 'bad' : 'good'))).toEqual([
    'bad',
    'good',
    'double',
  ]);
});

test('without names, the first column with numbers is the phone number, and the others need a mapping', async () => {
  const rows = [
    ['Anna', '+393331234567', 'Roma'],
    ['Bert', '+393331234568', 'Pisa'],
  ];
  const plain = await check(rows);
  expect(plain.table?.columns.map(({ name, target }) => [name, target])).toEqual([
    ['column 1', null],
    ['column 2', { field: 'phoneNumber' }],
    ['column 3', null],
  ]);
  const mapped = await check(rows, { mapping: { 1: 'firstName', 3: 'customField.city' } });
  expect(mapped.checked[1]).toMatchObject({ cells: ['Bert', '+393331234568', 'Pisa'] });
});

test('removeHead decides whether the first row is a header, whatever it looks like', async () => {
  const head = ['Nummer', 'x'];
  const mapping = { 1: 'phoneNumber' };
  expect((await check([head, ['+393331234567', '1']], { removeHead: true, mapping })).checked).toHaveLength(1);
  expect(await faultsOf([['phone'], ['+393331234567']], { removeHead: false, mapping })).toEqual([
    expect.stringContaining('is not a valid phone number'),
    'good',
  ]);
});

test('files without rows, of a thousand columns, or without a column of numbers are refused', async () => {
  await expect(check([])).rejects.toThrow('has no rows');
  await expect(
    check([
      ['phone', 'name'],
      ['', ''],
    ]),
  ).rejects.toThrow('has no rows');
  await expect(check([Array.from({ length: 1000 }, (_, i) => `c${i}`)])).rejects.toThrow(
    'has 1000 columns; 200 are allowed',
  );
  await expect(
    check([
      ['name', 'city'],
      ['Anna', 'Roma'],
    ]),
  ).rejects.toThrow('no column of phone numbers');
});

test('the preview is the first rows as they are', async () => {
  const { table } = await check([['phone'], [' +39333'], ['x'], ['y']], { previewRows: 2 });
  expect(table).toMatchObject({ total: 3, preview: [[' +39333'], ['x']] });
});

test('dates in numbers are read in the order that is chosen, and the report says how many each order would read', async () => {
  const dates = ['28.2.1990', '13-1-1990', '03/04/1990', '2/28/1990', '1990-02-28', '1990/2/28 00:00:00', '31.2.1990'];
  const rows = [['phone', 'born'], ...dates.map((date, i) => [`+39333123456${i}`, date])];
  const fields = [field(1, 'born', 'date')];
  const of = 'customFields.born';
  const { table } = await check(rows, { fields });
  expect(table?.cleaning.groups).toMatchObject([
    {
      field: of,
      rows: 6,
      cures: [
        { cure: 'dayFirst', rows: 4, samples: [{ line: 2, before: '28.2.1990', after: '1990-02-28' }, {}, {}, {}] },
        { cure: 'monthFirst', rows: 3 },
        { cure: 'drop', rows: 6 },
      ],
    },
  ]);
  const cured = await check(rows, { fields, cleaning: { ...NO_CLEANING, dayFirst: [of] } });
  expect(cured.checked.map((row) => ('faults' in row ? null : row.cells[1]))).toEqual([
    '1990-02-28',
    '1990-01-13',
    '1990-04-03',
    null,
    '1990-02-28',
    '1990-02-28',
    null,
  ]);
  expect(cured.table?.cleaning).toMatchObject({
    groups: [{ rows: 2, cures: [{ cure: 'drop', rows: 2 }] }],
    changes: [{ cure: 'dayFirst', field: of, rows: 4 }],
  });
});

test('a date in a field of numbers has no order to be read in', async () => {
  const { table } = await check(
    [
      ['phone', 'points'],
      ['+393331234567', '28.2.1990'],
    ],
    {
      fields: [field(1, 'points', 'number')],
    },
  );
  expect(table?.cleaning.groups[0]?.cures.map(({ cure }) => cure)).toEqual(['drop']);
});
