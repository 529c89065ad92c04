import { expect, test } from 'vitest';
import { expectLinear } from '../../test/support/linear.ts';
import { readVcard, VCARD_COLUMNS } from './import-tables.ts';

const read = async (text: string, chunk = 11) => {
  const rows = await Array.fromAsync(
    readVcard(async function* () {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
    }, 'utf-8'),
  );
  return rows.map(({ line, cells }) => ({
    line,
    ...Object.fromEntries(VCARD_COLUMNS.flatMap((column, i) => (cells[i] === '' ? [] : [[column, cells[i]]]))),
  }));
};
const card = (...lines: string[]) => ['BEGIN:VCARD', ...lines, 'END:VCARD', ''].join('\r\n');

test('a card of 2.1: types without a name, quoted-printable over several lines, character sets', async () => {
  const rows = await read(
    card(
      'VERSION:2.1',
      'N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg;;;',
      'FN;CHARSET=ISO-8859-1;QUOTED-PRINTABLE:J=F6rg =',
      'M=FCller',
      'TEL;HOME;VOICE:06 123456',
      'TEL;CELL;PREF:+39 333 1234567',
      'EMAIL;INTERNET:joerg@example.com',
    ),
  );
  expect(rows).toEqual([
    {
      line: 1,
      phoneNumber: '+39 333 1234567',
      firstName: 'Jörg',
      lastName: 'Müller',
      fullName: 'Jörg Müller',
      email: 'joerg@example.com',
    },
  ]);
});

test.each([11, 64 * 1024, 1 << 20])(
  'a line that is not read may have any length, in pieces of %d bytes too',
  async (chunk) => {
    const text = card(
      'VERSION:2.1',
      `PHOTO;ENCODING=b;TYPE=JPEG:${'/9j4'.repeat(50_000)}`,
      'FN:Anna',
      'TEL:+393331234567',
    );
    expect(await read(text, chunk)).toEqual([{ line: 1, fullName: 'Anna', phoneNumber: '+393331234567' }]);
  },
);

test.each(['\r', '\n', '\r\n'])('lines may end with %j', async (end) => {
  const text = `${card('FN:Anna', 'NOTE:', '  x', 'TEL:+393331234567')}${card('FN:Bruno')}`.replaceAll('\r\n', end);
  expect(await read(text)).toEqual([
    { line: 1, fullName: 'Anna', phoneNumber: '+393331234567' },
    { line: 7, fullName: 'Bruno' },
  ]);
});

test('a card of 3.0: folded lines, escapes, grouped properties, types in lists', async () => {
  const rows = await read(
    card(
      'VERSION:3.0',
      'N:Rossi\\; Bianchi;Anna\\, Maria;;;',
      'FN:Anna Maria',
      '  Rossi',
      'item1.TEL;TYPE="cell,voice",pref:+39333',
      ' 1234567',
      'item1.X-ABLabel:mobile',
      'PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ',
      ' SkZJRgABAQAA',
    ),
  );
  expect(rows).toEqual([
    {
      line: 1,
      phoneNumber: '+393331234567',
      firstName: 'Anna, Maria',
      lastName: 'Rossi; Bianchi',
      fullName: 'Anna Maria Rossi',
    },
  ]);
});

test('a card of 4.0: numbers as URIs, gender, preference by number', async () => {
  const rows = await read(
    card('VERSION:4.0', 'FN:Kim', 'TEL;VALUE=uri;PREF=1;TYPE="voice,home":tel:+39-06-123;ext=5', 'GENDER:F;woman'),
  );
  expect(rows).toEqual([{ line: 1, phoneNumber: '+39-06-123', fullName: 'Kim', gender: 'FEMALE' }]);
});

test.each([
  ['a mobile before the preferred line', ['TEL;WORK;PREF:1', 'TEL;CELL:2'], '2'],
  ['the preferred one of two mobiles', ['TEL;CELL:1', 'TEL;CELL;PREF:2'], '2'],
  ['anything before a fax', ['TEL;FAX;PREF:1', 'TEL:2'], '2'],
  ['the first of two mobiles', ['TEL;CELL:1', 'TEL;CELL:2'], '1'],
  ['both where no type says which is a mobile, the preferred one first', ['TEL:1', 'TEL;PREF:2'], '2 ::: 1'],
  ['the next where the best is empty', ['TEL;CELL:', 'TEL:2'], '2'],
])('of several numbers %s is taken', async (_, lines, phoneNumber) => {
  expect((await read(card(...lines)))[0]).toMatchObject({ phoneNumber });
});

test('a card without a number gives a row without one, and a nested card gives none', async () => {
  const inner = ['AGENT:', 'BEGIN:VCARD', 'TEL:666', 'END:VCARD'];
  const rows = await read(card('FN:Anna') + card(...inner, 'TEL:1', 'FN:Bert'));
  expect(rows).toEqual([
    { line: 1, fullName: 'Anna' },
    { line: 4, phoneNumber: '1', fullName: 'Bert' },
  ]);
});

test.each([
  ['text around cards', `hello\n${card('TEL:1')}`, 'line 1: is not part of a vCard'],
  ['a card that does not end', `${card('TEL:1')}BEGIN:VCARD\nTEL:1\n`, 'line 4: the card has no END:VCARD'],
  ['cards in cards without end', 'BEGIN:VCARD\n'.repeat(10_000), 'line 1: the card has no END:VCARD'],
  ['a line without end', `BEGIN:VCARD\nFN:${'x'.repeat(100_000)}`, 'line 2: is longer than 64 KiB'],
])('%s is refused with the line', async (_, text, message) => {
  await expect(read(text, 4096)).rejects.toThrow(message);
});

test('a picture of any length takes no memory', async () => {
  const picture = Array.from({ length: 20_000 }, () => ` ${'A'.repeat(70)}`);
  expect(await read(card('PHOTO;ENCODING=b:', ...picture, 'TEL:1'), 65_536)).toEqual([{ line: 1, phoneNumber: '1' }]);
});

test.each([
  ['a name of backslashes', (size: number) => card(`N:${'\\'.repeat(size)}x\\`)],
  ['many numbers', (size: number) => card(...Array<string>(size / 8).fill('TEL;CELL:'))],
])('%s takes time in proportion to its length', async (_, makeText) => {
  await expectLinear(makeText, (text) => read(text, 65_536));
});
