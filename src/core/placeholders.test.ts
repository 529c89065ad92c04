import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { expectLinear } from '../../test/support/linear.ts';
import { fillPlaceholders, placeholderNames, splitPlaceholders, type TextPart } from './schema.ts';

const written = (part: TextPart): string => (typeof part === 'string' ? part : part.whole);
const fillX = (text: string): string => fillPlaceholders(text, (name) => (name === 'x' ? '{{x}}' : undefined));

test('a placeholder has a name without the blanks around it, and a default where the form has defaults', () => {
  const text = 'Hi {{ first name }}, {{x|you | me}}!';
  expect(splitPlaceholders(text, { defaults: true })).toEqual([
    'Hi ',
    { whole: '{{ first name }}', name: 'first name', fallback: '' },
    ', ',
    { whole: '{{x|you | me}}', name: 'x', fallback: 'you | me' },
    '!',
  ]);
  expect(splitPlaceholders(text, { defaults: false }).at(-1)).toBe(', {{x|you | me}}!');
});

test.each(['{{', '}}', '{x}', '{{x{x}}', '{{x}', '{{x}y}}', '{{x|y', '{{x|y}', ''])('%j is text', (text) => {
  for (const defaults of [true, false])
    expect(splitPlaceholders(text, { defaults })).toEqual(text === '' ? [] : [text]);
});

test('further braces before and behind a placeholder are text', () => {
  expect(fillPlaceholders('{{{x}}} {{ {{x}} {{a|{{x}}', () => '1')).toBe('{1} {{ 1 {{a|1');
  expect(splitPlaceholders('{{x|a}b}}}', { defaults: true })).toMatchObject([{ fallback: 'a}b' }, '}']);
});

test('one without a value, without a name or with too long a name stays as it is; values are not filled in again', () => {
  const long = `{{${'x'.repeat(65)}}}`;
  expect(fillX(`{{x}} {{ x }} {{y}} {{}} {{ }} ${long}`)).toBe(`{{x}} {{x}} {{y}} {{}} {{ }} ${long}`);
  expect(placeholderNames(`{{b}}{{ a }}{{b}}{{}}${long}{{c|d}}`)).toEqual(['b', 'a']);
});

propertyTest.prop([fc.string({ unit: fc.constantFrom('{', '{', '}', '}', '|', 'a', ' ') }), fc.boolean()])(
  'the parts of a text, as they are written, are the text',
  (text, defaults) => {
    expect(splitPlaceholders(text, { defaults }).map(written).join('')).toBe(text);
  },
);

test.each([
  ['an open placeholder with blanks', (size: number) => `{{${' '.repeat(size)}`],
  ['open braces', (size: number) => '{'.repeat(size)],
  ['open names', (size: number) => '{{a'.repeat(size / 3)],
  ['open defaults', (size: number) => '{{a|'.repeat(size / 4)],
  ['defaults that are not closed', (size: number) => '{{|}'.repeat(size / 4)],
])('%s take time in proportion to their length', async (_, makeText) => {
  await expectLinear(makeText, (text) => splitPlaceholders(text, { defaults: true }));
  await expectLinear(makeText, (text) => splitPlaceholders(text, { defaults: false }));
});
