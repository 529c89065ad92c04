import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { many, sql, textArray } from '../core/db/query.ts';
import { countParts } from '../smpp/text.ts';

const { pool } = testDatabase();

const inDatabase = async (texts: readonly string[]): Promise<number[]> => {
  const rows = await many<{ parts: number }>(
    pool,
    sql`SELECT sms_parts(t) AS parts FROM unnest(${textArray(texts)}::text[]) WITH ORDINALITY AS u (t, n) ORDER BY n`,
  );
  return rows.map(({ parts }) => parts);
};
const inProgram = (texts: readonly string[]): number[] => texts.map((text) => countParts(text).parts);

const GSM = [...'@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./09:;<=>?¡AZÄÖÑÜ§¿azäöñüà^{}\\[~]|€\f'];
const longText = (...units: readonly [weight: number, among: readonly string[]][]) =>
  fc
    .array(fc.oneof(...units.map(([weight, among]) => ({ weight, arbitrary: fc.constantFrom(...among) }))), {
      maxLength: 700,
      size: 'max',
    })
    .map((parts) => parts.join(''));

const text = fc.oneof(
  longText([1, GSM]),
  longText([20, ['a']], [1, ['€', '[', '~']]),
  longText([3, ['a', 'ж', '\x01', 'h', 'l']], [1, ['😀', '𝕏']]),
  longText([200, ['a', ' ']], [1, ['`', '😀', '€']]),
  fc.string({ unit: 'binary', maxLength: 200 }).map((s) => s.replaceAll('\0', '')),
);

propertyTest.prop([fc.array(text, { minLength: 20, maxLength: 20 })], { numRuns: 40 })(
  'the database counts the parts of any text as the encoder cuts them',
  async (texts) => {
    expect(await inDatabase(texts)).toEqual(inProgram(texts));
  },
);

test('every character of the basic plane is in the same alphabet for both', async () => {
  const codes = Array.from({ length: 0xffff }, (_, i) => i + 1).filter((code) => code < 0xd800 || code > 0xdfff);
  // 71 of them are one part in GSM 03.38 and two in UCS-2.
  const texts = codes.map((code) => String.fromCharCode(code).repeat(71));
  expect(await inDatabase(texts)).toEqual(inProgram(texts));
});

test('no part ends inside an escape pair or a surrogate pair', async () => {
  const texts = [
    ...[160, 161, 306, 307].map((length) => 'a'.repeat(length)),
    'a'.repeat(152) + '€'.repeat(5),
    'a'.repeat(151) + '€' + 'a'.repeat(152),
    'ж'.repeat(66) + '😀'.repeat(4),
    'ж'.repeat(67) + '😀'.repeat(2),
    '😀'.repeat(67),
  ];
  expect(await inDatabase(texts)).toEqual([1, 2, 2, 3, 2, 2, 2, 2, 3]);
  expect(inProgram(texts)).toEqual(await inDatabase(texts));
});
