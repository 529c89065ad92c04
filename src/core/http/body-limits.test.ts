import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { maxValuesOf } from './body.ts';

const EXTRA = 1_500;

test('a body may have what its schema accepts, and some fields that the schema does not know', () => {
  const Person = Type.Object({ name: Type.String(), tags: Type.Array(Type.String(), { maxItems: 5 }) });
  expect(maxValuesOf(Person)).toBe(8 + EXTRA);
  expect(maxValuesOf(Type.Array(Person, { maxItems: 10 }))).toBe(81 + EXTRA);
  expect(maxValuesOf(Type.Union([Type.Null(), Person, Type.Literal('A')]))).toBe(8 + EXTRA);
  expect(maxValuesOf(Type.Object({ a: Type.Optional(Type.Enum(['X'])) }))).toBe(2 + EXTRA);
});

test('objects with any names have as many fields as their schema says', () => {
  expect(maxValuesOf(Type.Record(Type.String(), Type.Integer(), { maxProperties: 100 }))).toBe(101 + EXTRA);
  expect(maxValuesOf(Type.Record(Type.String(), Type.Integer()))).toBe(1_001 + EXTRA);
});

test.each([
  ['no schema', undefined],
  ['a list of any length', Type.Object({ ids: Type.Array(Type.Integer()) })],
  ['any value', Type.Object({ settings: Type.Unknown() })],
  ['further fields of any kind', Type.Object({}, { additionalProperties: true })],
])('%s has the limit of all bodies', (_, schema) => {
  expect(maxValuesOf(schema)).toBe(250_000);
});
