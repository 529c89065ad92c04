import { fc, test as propertyTest } from '@fast-check/vitest';
import { beforeAll, expect, test } from 'vitest';
import { openCampaignStage, PRICE_MICROS } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { expectLinear } from '../../test/support/linear.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { type Db, exec, many, one, type Sql, sql } from '../core/db/query.ts';
import { MAX_PARTS } from '../messages/prepare.ts';
import { smartText } from '../messages/smart-encoding.ts';
import { countParts } from '../smpp/text.ts';
import { fixedText, leastText, parseText, partsSql, renderSql, valuesSql } from './texts.ts';

const { pool } = testDatabase();

let accountId: number;
beforeAll(async () => {
  accountId = await createAccountWithCredit(pool, 0);
});

const CITY = { id: 12, name: 'city' };
const on = { contact: sql`c`, destination: sql`d.number` };

type Person = { firstName?: string; lastName?: string; gender?: string; email?: string; city?: string | number };

/** Returns the value of an expression for one person; without one, for a number that is not a contact. */
async function valueOf<T>(db: Db, expression: Sql, person?: Person): Promise<T> {
  const number = '+393331234567';
  await exec(db, sql`DELETE FROM contact WHERE account_id = ${accountId}`);
  if (person)
    await exec(
      db,
      sql`INSERT INTO contact (account_id, first_name, last_name, gender, email, phone_number, is_valid, channels,
            custom_fields)
          VALUES (${accountId}, ${person.firstName}, ${person.lastName}, ${person.gender}, ${person.email}, ${number},
            true, 7, ${JSON.stringify(person.city === undefined ? {} : { [CITY.id]: person.city })}::jsonb)`,
    );
  const row = await one<{ value: T }>(
    db,
    sql`SELECT ${expression} AS value FROM (SELECT ${number}::text AS number) AS d
        LEFT JOIN contact c ON c.account_id = ${accountId} AND c.phone_number = d.number`,
  );
  return row.value;
}
const render = (text: string, person?: Person): Promise<string> =>
  valueOf(pool, renderSql(parseText(text, [CITY]).pieces, on), person);

test('every field of a contact has its placeholder, in any case, with blanks around it', async () => {
  const person = { firstName: 'Ana', lastName: 'Sá', gender: 'FEMALE', email: 'ana@example.com', city: 'Évora' };
  const fields = '{{fullName}}|{{firstName}}|{{ lastname }}|{{NAME}}|{{gender}}|{{phoneNumber}}|{{email}}|{{City}}';
  expect(await render(fields, person)).toBe('Ana Sá|Ana|Sá|Ana Sá|FEMALE|+393331234567|ana@example.com|Évora');
});

test('a missing value is the default, or empty; a missing name is the number', async () => {
  const text = '[{{firstName}}][{{firstName|friend}}][{{city|a | b}}][{{name}}]';
  expect(await render(text, {})).toBe('[][friend][a | b][+393331234567]');
  expect(await render(text)).toBe('[][friend][a | b][+393331234567]');
  expect(await render('{{firstName|friend}}{{city|nowhere}}', { firstName: '', city: 7 })).toBe('friend7');
});

const LONG = [
  ['plain letters', 'a'],
  ['two septets each', '€'],
  ['two octets each', 'ж'],
  ['two units each', '😀'],
  ['nothing after replacements', '\u200b'],
] as const;
test.each(LONG)(
  'a text of many long values is cut, and remains too long however it is encoded: %s',
  async (_, letter) => {
    const { pieces } = parseText('{{city}}'.repeat(1000), [CITY]);
    const person = { city: letter.repeat(1000) };
    const text = await valueOf<string>(pool, renderSql(pieces, on), person);
    expect([...text].length).toBeLessThan(2000);
    expect(countParts(smartText(text).text).parts).toBeGreaterThan(MAX_PARTS);
    expect(await valueOf<number>(pool, partsSql(pieces, on), person)).toBeGreaterThan(MAX_PARTS);
  },
);

test.each([
  ['a', 1530, 10],
  ['a', 1531, 11],
  ['ж', 670, 10],
  ['ж', 671, 11],
])('the longest text that is sent is whole: %s × %i', async (letter, length, parts) => {
  const { pieces } = parseText('{{firstName}}{{city}}', [CITY]);
  const text = letter.repeat(length);
  const person = { firstName: text.slice(0, 100), city: text.slice(100) };
  const isSent = parts <= MAX_PARTS;
  expect(await valueOf(pool, partsSql(pieces, on), person)).toBe(parts);
  expect(countParts(await valueOf<string>(pool, renderSql(pieces, on), person)).parts > MAX_PARTS).toBe(!isSent);
  if (isSent) expect(await valueOf(pool, renderSql(pieces, on), person)).toBe(text);
});

test('words that become shorter by replacements leave room for the values', async () => {
  const words = `${'\u200b'.repeat(1000)}{{city}}${'b'.repeat(1000)}`;
  const text = await render(words, { city: 'a'.repeat(530) });
  expect(smartText(text).text).toBe('a'.repeat(530) + 'b'.repeat(1000));
});

test('braces that are not a placeholder stay as they are', async () => {
  for (const text of ['{{', '}}', '{firstName}', '{{first{name}}', '{{}', 'a {{ b'])
    expect(await render(text, { firstName: 'Ana' })).toBe(text);
  expect(await render('{{{firstName}}}', { firstName: 'Ana' })).toBe('{Ana}');
});

test('a value is text, whatever it contains', async () => {
  const values = ['{{lastName}}', "'; DROP TABLE contact; --", '$1', '\\', '%s', '{{firstName|x}}'];
  for (const firstName of values)
    expect(await render('<{{firstName}}>', { firstName, lastName: 'no' })).toBe(`<${firstName}>`);
});

propertyTest.prop([fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })], { numRuns: 60 })(
  'text and values go through unchanged',
  async (around, value) => {
    const text = around.replaceAll(/[{}\0]/g, '');
    const firstName = value.replaceAll('\0', '');
    expect(await render(`${text}{{firstName}}${text}`, { firstName })).toBe(`${text}${firstName}${text}`);
  },
);

test('unknown fields are reported once, and replaced by their default if they are used anyway', async () => {
  const { unknown, pieces } = parseText('{{nick}} {{ nick|x }} {{}} {{first name}} {{firstName}}', [CITY]);
  expect(unknown).toEqual(['nick', '', 'first name']);
  expect(await valueOf(pool, renderSql(pieces, on), { firstName: 'Ana' })).toBe(' x   Ana');
});

test('defaults that are not closed take time in proportion to the length of the text', async () => {
  await expectLinear(
    (size) => '{{|}'.repeat(size / 4),
    (text) => parseText(text, [CITY]),
  );
});

test('a text without placeholders is recognised as the same for all', () => {
  const piecesOf = (text: string) => parseText(text, [CITY]).pieces;
  expect(fixedText(piecesOf('Hello {you}'))).toBe('Hello {you}');
  expect(fixedText(piecesOf(''))).toBe('');
  expect(fixedText(piecesOf('Hello {{name}}'))).toBeNull();
  expect(leastText(piecesOf('Hello {{name|friend}}!'))).toBe('Hello !');
});

test('an empty text is an empty text', async () => {
  expect(await render('', {})).toBe('');
});

test('the variables of a template have their values under their own names', async () => {
  const entries = ['firstName|friend', 'city', 'nick|none'];
  const values = valuesSql(entries, [CITY], on);
  expect(await valueOf(pool, values, { city: 'Faro' })).toEqual({
    'firstName|friend': 'friend',
    city: 'Faro',
    'nick|none': 'none',
  });
  expect(await valueOf(pool, valuesSql([], [CITY], on))).toEqual({});
});

test.each(['', '{{firstName|}}'])(
  'smart messages have the parts that were reserved, and the parameters of the campaign (%j)',
  async (end) => {
    const stage = await openCampaignStage(pool);
    const [indian, italian] = ['+919876543210', '+393331234567'];
    const words = 'x'.repeat(100);
    const id = await stage.confirmed({
      numbers: [indian, italian],
      countries: ['IN', 'IT'],
      body: `${words}’${end}`,
      reservedMicros: 3 * PRICE_MICROS,
    });
    const tlvs = JSON.stringify([{ tag: '0x1402', value: 'abc' }]);
    await exec(pool, sql`UPDATE campaign SET encoding = 'smart', tlvs = ${tlvs}::jsonb WHERE id = ${id}`);
    await stage.run();
    const sent = await many(
      pool,
      sql`SELECT destination, body, parts, encode(tlvs, 'hex') AS tlvs FROM message WHERE campaign_id = ${id} ORDER BY destination`,
    );
    expect(sent).toEqual([
      { destination: italian, body: `${words}'`, parts: 1, tlvs: '1402000461626300' },
      { destination: indian, body: `${words}’`, parts: 2, tlvs: '1402000461626300' },
    ]);
  },
);
