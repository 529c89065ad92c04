import { Ajv } from 'ajv';
import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { expectLinear } from '../../../test/support/linear.ts';
import { describeFaults } from './validation.ts';

/** Returns the messages for a sender of `data`, as `field: message`. */
function faults(schema: object, data: unknown): string[] {
  const ajv = new Ajv({ allErrors: true, verbose: true, strict: false, formats: { date: /^\d{4}-\d\d-\d\d$/ } });
  const validate = ajv.compile(schema);
  expect(validate(data)).toBe(false);
  return describeFaults(validate.errors ?? []).map(({ field, message }) => `${field}: ${message}`);
}

const field = (schema: Type.TSchema) => Type.Object({ it: schema });

test('fields are named by their dotted path', () => {
  const schema = Type.Object({
    messages: Type.Array(Type.Object({ to: Type.Array(Type.String()), 'a/b~c': Type.String() })),
  });
  expect(faults(schema, { messages: [{ to: ['a', 1] }] })).toEqual([
    'messages[0].a/b~c: is required',
    'messages[0].to[1]: must be a string',
  ]);
  expect(faults(Type.Array(Type.Integer()), ['x'])).toEqual(['[0]: must be a whole number']);
  expect(faults(schema, 'text')).toEqual(['body: must be an object']);
});

test.each([
  [Type.Integer(), 1.5, 'must be a whole number'],
  [Type.Boolean(), 'true', 'must be true or false'],
  [Type.String({ minLength: 1 }), '', 'must not be empty'],
  [Type.String({ minLength: 3 }), 'ab', 'must have at least 3 characters'],
  [Type.String({ maxLength: 1 }), 'ab', 'must have at most 1 characters'],
  [Type.String({ pattern: '^a$' }), 'b', 'must match ^a$'],
  [Type.String({ pattern: '^a$', 'x-message': 'must be the letter a' }), 'b', 'must be the letter a'],
  [Type.String({ pattern: '^a$', 'x-message': 'must be the letter a' }), 1, 'must be a string'],
  [Type.String({ format: 'date' }), 'x', 'must be a date (yyyy-MM-dd)'],
  [Type.Integer({ minimum: 0 }), -1, 'must be at least 0'],
  [Type.Integer({ maximum: 9 }), 10, 'must be at most 9'],
  [Type.Array(Type.String(), { minItems: 1 }), [], 'must not be empty'],
  [Type.Array(Type.String(), { maxItems: 1 }), ['a', 'b'], 'must have at most 1 entries'],
  [Type.Array(Type.String(), { uniqueItems: true }), ['a', 'a'], 'must not contain the same value twice'],
  [Type.Enum(['A', 'B']), 'C', 'must be one of A, B'],
  [Type.Enum(['A', 'B'], { type: 'string' }), null, 'must be one of A, B'],
  [Type.Literal('A'), 'C', 'must be A'],
  [Type.Unsafe({ not: { type: 'string' } }), 'a', 'is not allowed in this form'],
])('%j says of %j: it %s', (schema, value, message) => {
  expect(faults(field(schema), { it: value })).toContain(`it: ${message}`);
});

test('a union gives one message: its types, its values, or the faults of the closest form', () => {
  expect(faults(field(Type.Union([Type.String(), Type.Null()])), { it: 3 })).toEqual(['it: must be a string or null']);
  const letters = field(Type.Union([Type.Literal('A'), Type.Literal('B')]));
  expect(faults(letters, { it: 'C' })).toEqual(['it: must be one of A, B']);
  const short = field(Type.Union([Type.String({ maxLength: 1 }), Type.Null()]));
  expect(faults(short, { it: 'ab' })).toEqual(['it: must have at most 1 characters']);
  const [a, b] = [
    Type.Object({ phoneNumber: Type.String(), message: Type.String() }),
    Type.Object({ destination: Type.String() }),
  ];
  expect(faults(Type.Union([a, b]), { destination: 7 })).toEqual(['destination: must be a string']);
  expect(faults(Type.Union([b, a]), { phoneNumber: 1, message: 2 })).toEqual([
    'phoneNumber: must be a string',
    'message: must be a string',
  ]);
});

test('in a union whose forms have distinct words, the form that was named counts', () => {
  const form = (type: string, more: object) => Type.Object({ type: Type.Literal(type), ...more });
  const card = Type.Object({ title: Type.String(), height: Type.Integer() });
  const body = field(
    Type.Union([
      form('TEXT', { text: Type.String() }),
      form('CARD', { card, note: Type.Optional(Type.String()) }),
      Type.Object({ type: Type.Enum(['FILE', 'IMAGE']) }),
      Type.Null(),
    ]),
  );
  expect(faults(body, { it: { type: 'CARD', card: { title: 1, height: 'x' }, note: 2 } })).toEqual([
    'it.card.title: must be a string',
    'it.card.height: must be a whole number',
    'it.note: must be a string',
  ]);
  expect(faults(body, { it: { type: 'CAROUSEL', card: 5 } })).toEqual([
    'it.type: must be one of TEXT, CARD, FILE, IMAGE',
  ]);
  expect(faults(body, { it: { text: 'Hello' } })).toEqual(['it.type: is required']);
  expect(faults(body, { it: 5 })).toEqual(['it: must be an object or null']);
});

test('a union inside a union gives one message', () => {
  const inner = Type.Union([Type.String(), Type.Integer()]);
  const schema = field(Type.Union([Type.Object({ x: inner }), Type.Null()]));
  expect(faults(schema, { it: { x: true } })).toEqual(['it.x: must be a string or a whole number']);
});

test('each entry of a list of unions has its own faults', () => {
  const [a, b] = [Type.Object({ x: Type.Integer(), y: Type.Integer() }), Type.Object({ z: Type.Integer() })];
  const schema = field(Type.Array(Type.Union([a, b, Type.Null()])));
  expect(faults(schema, { it: [{ x: 1 }, { x: 'a', y: 2 }, { z: null }, 5] })).toEqual([
    'it[0].y: is required',
    'it[1].x: must be a whole number',
    'it[2].z: must be a whole number',
    'it[3]: must be an object or null',
  ]);
});

test('many failed unions take time in proportion to their number', async () => {
  const ajv = new Ajv({ allErrors: true, verbose: true, strict: false });
  const schema = Type.Array(Type.Union([Type.Object({ x: Type.Integer() }), Type.Object({ y: Type.Integer() })]));
  const validate = ajv.compile(schema);
  const errorsOf = (entries: number) => {
    validate(Array.from({ length: entries }, () => ({ x: 'a', y: 'b' })));
    return validate.errors ?? [];
  };
  await expectLinear(errorsOf, describeFaults, 200);
});
