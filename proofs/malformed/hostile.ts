import { between, oneOf, type RandomSource } from '../lib/proof.ts';
import { isSchema, type Schema } from '../lib/routes.ts';

const NESTING_DEPTH = 2000;
const LIST_LENGTH = 3000;

/** Texts that have broken some program before. */
export const TEXTS: readonly string[] = [
  '',
  ' ',
  '0',
  '-1',
  '00',
  '1e999',
  '0x10',
  'NaN',
  'Infinity',
  'null',
  'undefined',
  'true',
  '[object Object]',
  '__proto__',
  'constructor',
  'toString',
  'a\u0000b',
  '\u0000',
  '\ud800',
  'x\udfff',
  '\ufeffbom',
  '\u202eright to left',
  '👩‍👩‍👧‍👦',
  'e\u0301'.repeat(50),
  'ﷺ'.repeat(300),
  '\r\nX-Injected: 1',
  '\t\n\v\f\r',
  "'; DROP TABLE message; --",
  "' OR 1=1 --",
  '%',
  '%00',
  '%ff%fe',
  '%_\\%',
  '../../../../etc/passwd',
  '${7*7}{{7*7}}#{7*7}',
  '{{',
  '}}',
  '{{{{{{{{',
  '<script>alert(1)</script>',
  '=1+1',
  '(((((((((((((((((((((((((((((a',
  'a'.repeat(256),
  'a'.repeat(1531),
  'a'.repeat(70_000),
  ','.repeat(1200),
  '0,'.repeat(1001),
  '9'.repeat(400),
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '2147483648',
  '9007199254740993',
  '1.5',
  '1,2',
  '0000-00-00',
  '2026-02-30T25:61:61Z',
  '2026-11-21',
  '9999-12-31T23:59:59.999Z',
  '-271821-04-20T00:00:00.000Z',
  '+275760-09-13T00:00:00.001Z',
  '2027-01-31 09:00:00.000+0100',
  '2027-01-31 09:00:00.000+9999',
  '+393331234567',
  '+0',
  '+'.repeat(30),
  '٣٣٣١٢٣٤٥٦٧',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '01234567-89ab-7def-8123-456789abcdeg',
  'pg_live_',
  `pg_live_${'A'.repeat(43)}`,
  'https://user:pass@127.0.0.1:8443/#x',
  'http://[::ffff:7f00:1]/',
  'https://xn--/',
  '::1/129',
  '0.0.0.0/0',
  '1.2.3.4/33',
];

const NUMBERS = [0, -0, -1, 1.5, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 + 2, 2 ** 63, 2 ** 64, 1e21];

/** Returns a random JSON value of any type. */
export function hostileValue(chance: RandomSource): unknown {
  const kinds: readonly (() => unknown)[] = [
    () => oneOf(chance, TEXTS),
    () => oneOf(chance, TEXTS),
    () => oneOf(chance, NUMBERS),
    () => oneOf(chance, [null, true, false, [], {}, [[]], [null], { '': '' }]),
    () => deep(between(chance, 1, NESTING_DEPTH)),
    () => Array.from({ length: between(chance, 1, LIST_LENGTH) }, (_, i) => i),
    () => Object.fromEntries(Array.from({ length: between(chance, 1, LIST_LENGTH) }, (_, i) => [`k${i}`, i])),
    () => [oneOf(chance, TEXTS), oneOf(chance, NUMBERS), null],
    () => ({ [oneOf(chance, TEXTS)]: oneOf(chance, TEXTS) }),
  ];
  return oneOf(chance, kinds)();
}

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Returns a value that more or less fits the schema. */
export function fittingValue(chance: RandomSource, schema: Schema): unknown {
  const { anyOf, enum: choices, const: only, type, items, properties } = schema;
  if (Array.isArray(anyOf)) return fittingValue(chance, oneOf(chance, anyOf.filter(isSchema)));
  if (Array.isArray(choices)) return oneOf(chance, choices);
  if (only !== undefined) return only;
  if (type === 'string') return fittingText(chance, schema);
  if (type === 'integer' || type === 'number') return between(chance, Number(schema['minimum'] ?? 0), 20);
  if (type === 'boolean') return chance.random.chance(0.5);
  if (type === 'array' && isSchema(items))
    return Array.from({ length: between(chance, 0, 3) }, () => fittingValue(chance, items));
  if (isSchema(properties)) return fittingObject(chance, properties, schema['required']);
  return type === 'null' ? null : oneOf(chance, TEXTS);
}

const TEXTS_BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2027-01-31T09:00:00.000Z',
  date: '2027-01-31',
  uuid: '01234567-89ab-7def-8123-456789abcdef',
  email: 'a@example.com',
  uri: 'https://example.com/',
};

function fittingText(chance: RandomSource, { format, pattern }: Schema): string {
  const known = TEXTS_BY_FORMAT[String(format)];
  if (known !== undefined) return known;
  return pattern === undefined
    ? oneOf(chance, ['Acme', 'a', '12', 'quokka'])
    : oneOf(chance, ['+393331234567', 'Acme']);
}

const OMITTED_SHARE = 0.3;

function fittingObject(chance: RandomSource, properties: Schema, required: unknown): Record<string, unknown> {
  const needed = new Set(Array.isArray(required) ? required : []);
  const entries = Object.entries(properties).filter(([key]) => needed.has(key) || !chance.random.chance(OMITTED_SHARE));
  return Object.fromEntries(entries.map(([key, inner]) => [key, isSchema(inner) ? fittingValue(chance, inner) : null]));
}

/** Returns a hostile value, mostly of the same type: another type is refused at once. */
const hostileInstead = (chance: RandomSource, value: unknown): unknown => {
  if (chance.random.chance(0.3)) return hostileValue(chance);
  if (typeof value === 'string') return oneOf(chance, TEXTS);
  return typeof value === 'number' ? oneOf(chance, NUMBERS) : hostileValue(chance);
};

/** Replaces one of the innermost parts of a value by something hostile. */
export function corruptOnePart(chance: RandomSource, value: unknown): unknown {
  const parts = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (parts.length === 0) return hostileInstead(chance, value);
  const [key, part] = oneOf(chance, parts);
  const changed = corruptOnePart(chance, part);
  if (Array.isArray(value)) return value.map((item, i) => (String(i) === key ? changed : item));
  return { ...Object.fromEntries(parts), [key]: changed };
}

/** Replaces this share of a value's parts by something hostile. */
export function corruptParts(chance: RandomSource, value: unknown, share: number): unknown {
  if (chance.random.chance(share)) return hostileInstead(chance, value);
  if (Array.isArray(value)) return value.map((item) => corruptParts(chance, item, share));
  if (!isSchema(value)) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [
    chance.random.chance(share / 4) ? oneOf(chance, TEXTS) : key,
    corruptParts(chance, inner, share),
  ]);
  return Object.fromEntries(entries.filter(() => !chance.random.chance(share / 4)));
}
