import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { findUnknownFields, MAX_UNKNOWN } from './unknown-fields.ts';

const Text = Type.Object({ type: Type.Literal('TEXT'), text: Type.String() });
const Place = Type.Object({ type: Type.Literal('PLACE'), latitude: Type.Number(), name: Type.Optional(Type.String()) });
const Body = Type.Object({
  name: Type.Optional(Type.String()),
  after: Type.Optional(Type.Object({ RCS: Type.Optional(Type.Integer()) })),
  messages: Type.Optional(
    Type.Array(Type.Object({ destinations: Type.Array(Type.String()), simulation: Type.Optional(Type.Never()) })),
  ),
  content: Type.Optional(Type.Union([Text, Place, Type.Null()])),
  values: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Record(Type.String(), Type.String())])),
  raw: Type.Optional(Type.Object({ type: Type.String() }, { additionalProperties: true })),
  any: Type.Optional(Type.Unknown()),
});
const find = (document: unknown, schema: unknown = Body) =>
  findUnknownFields(schema, document).map(({ field, nearest }) => [field, nearest]);

test('a document with known fields alone has none', () => {
  const document = {
    name: 'a',
    after: { RCS: 1 },
    messages: [{ destinations: ['1'] }],
    content: { type: 'PLACE', latitude: 1, name: 'x' },
  };
  expect(find(document)).toEqual([]);
});

test('unknown fields are named with their path and the nearest known name', () => {
  expect(find({ nme: 'a', after: { SMS: 1 }, messages: [{ destinations: [] }, { destination: [], x: 1 }] })).toEqual([
    ['nme', 'name'],
    ['after.SMS', null],
    ['messages[1].destination', 'destinations'],
    ['messages[1].x', null],
  ]);
});

describe('in a union', () => {
  test('the branch that the value belongs to counts', () => {
    expect(find({ content: { type: 'TEXT', text: 'x', latitude: 1 } })).toEqual([['content.latitude', null]]);
    expect(find({ content: { type: 'PLACE', latitude: 1, txet: 1 } })).toEqual([['content.txet', null]]);
  });

  test('a field that a branch must not have decides', () => {
    const Short = Type.Object({ phoneNumber: Type.String() });
    const Long = Type.Object({ phoneNumber: Type.Optional(Type.Never()), destination: Type.String() });
    const either = Type.Union([Short, Long]);
    expect(find({ phoneNumber: '1', sendr: 'a' }, either)).toEqual([['sendr', null]]);
    expect(find({ destination: '1', phone: 'a' }, either)).toEqual([['phone', null]]);
    expect(find({ destination: '1' }, either)).toEqual([]);
  });
});

test('names of free choice are never unknown', () => {
  expect(find({ values: { anything: 'a' }, raw: { type: 'x', more: { deep: 1 } }, any: { thing: 1 } })).toEqual([]);
  expect(find({ a: 1 }, Type.Unknown())).toEqual([]);
  expect(findUnknownFields(undefined, { a: 1 })).toEqual([]);
});

test('at most twenty are named, and a long name is cut', () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`field${i}`, 1]));
  expect(find(many)).toHaveLength(MAX_UNKNOWN);
  expect(find({ messages: Array.from({ length: 500 }, () => ({ x: 1 })) })).toHaveLength(MAX_UNKNOWN);
  expect(find({ ['é'.repeat(1000)]: 1 })).toEqual([[`${'é'.repeat(64)}…`, null]]);
});
