import { Type } from 'typebox';
import { afterAll, expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { createServer } from './server.ts';
import { bodyFaults } from './more-faults.ts';

const Body = Type.Object({
  number: Type.Optional(Type.String()),
  age: Type.Optional(Type.Integer()),
  tags: Type.Optional(Type.Array(Type.String())),
  more: Type.Optional(Type.Record(Type.String(), Type.Integer())),
});

/** Calls of the route's check, with the errors that the schema found. */
const asked: object[] = [];
const app = createServer(apiDeps());
app.post('/', {
  schema: { body: Body },
  config: {
    moreFaults: bodyFaults(Body, (sound, _request, isRefused) => {
      asked.push({ sound, more: isRefused('more'), tags: isRefused('tags') });
      if (sound.number === 'away') throw new Error('the database is away');
      return sound.number === 'wrong' ? [{ field: 'number', message: 'is no number' }] : [];
    }),
  },
  handler: () => 'taken',
});
afterAll(() => app.close());

async function post(payload: object) {
  asked.length = 0;
  const answer = await app.inject({ method: 'POST', url: '/', payload });
  const details: { field: string }[] = answer.statusCode === 400 ? answer.json().details : [];
  return { status: answer.statusCode, fields: details.map(({ field }) => field) };
}

test('the faults found by the route follow those of the schema', async () => {
  expect(await post({ number: 'wrong', age: 'x' })).toEqual({ status: 400, fields: ['age', 'number'] });
  expect(await post({ number: '1', age: 'x' })).toEqual({ status: 400, fields: ['age'] });
});

test('a body that the schema accepts is checked only by the handler', async () => {
  expect(await post({ number: 'wrong' })).toMatchObject({ status: 200 });
  expect(asked).toEqual([]);
});

test('the route sees the valid fields, also of objects, and no array with a rejected entry', async () => {
  await post({ number: 5, age: 1, tags: ['a', 5], more: { a: 1, b: 'x' }, unknown: true });
  expect(asked).toEqual([{ sound: { age: 1, more: { a: 1 }, unknown: true }, more: true, tags: true }]);
});

test('a body that is not an object is rejected by the schema alone', async () => {
  expect(await post([])).toEqual({ status: 400, fields: ['body'] });
});

test('an error in the further check gets the same response as any other', async () => {
  expect(await post({ number: 'away', age: 'x' })).toMatchObject({ status: 500 });
});
