import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { createServer } from './server.ts';

const Entry = Type.Object({ id: Type.Integer(), name: Type.String() });
const Page = Type.Object({ note: Type.String(), data: Type.Array(Entry), page: Type.Integer(), total: Type.Integer() });

const pageOf = (count: number) => ({
  note: 'quotes and the name of the field: "data":[ and \\',
  data: Array.from({ length: count }, (_, id) => ({ id, name: `é"],"${id}`, secret: 'not in the schema' })),
  page: 0,
  total: count,
});

test.each([0, 1, 49, 50, 51, 1000])(
  'a page of %i entries has the same bytes as one that is serialized at once',
  async (count) => {
    const app = createServer(apiDeps());
    app.get('/page', { schema: { response: { 200: Page } } }, () => pageOf(count));
    app.get('/plain', () => pageOf(count));
    const { body, headers } = await app.inject('/page');
    const withoutSecrets = pageOf(count).data.map(({ id, name }) => ({ id, name }));
    expect(body).toBe(JSON.stringify({ ...pageOf(count), data: withoutSecrets }));
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
    expect((await app.inject('/plain')).body).toBe(JSON.stringify(pageOf(count)));
  },
);

test('an entry that does not fit its schema is an error, in a long page too', async () => {
  const app = createServer(apiDeps());
  app.get('/page', { schema: { response: { 200: Page } } }, () => {
    const page = pageOf(200);
    return { ...page, data: [...page.data, { id: 'x', name: 'y' } as never] };
  });
  expect((await app.inject('/page')).statusCode).toBe(500);
});

test('while a long page is serialized, others have their turn', async () => {
  const app = createServer(apiDeps());
  let turns = 0;
  app.get('/page', () => {
    const entry = {
      // Takes as long to serialize as a slice.
      toJSON() {
        const end = performance.now() + 2;
        while (performance.now() < end);
        return turns;
      },
    };
    return { data: Array.from({ length: 100 }, () => entry) };
  });
  const count = (): void => {
    turns++;
    waiting = setImmediate(count);
  };
  let waiting = setImmediate(count);
  const seen = (await app.inject('/page')).json<{ data: number[] }>().data;
  clearImmediate(waiting);
  expect(new Set(seen).size).toBeGreaterThan(5);
});

test('the steps of a large body are separate turns, and a small body has them all in one', async () => {
  const app = createServer(apiDeps());
  let turn = 0;
  let parsedIn = 0;
  app.addHook('preParsing', (_request, _reply, payload, done) => {
    payload.once('end', () => (parsedIn = turn));
    done(null, payload);
  });
  app.post('/', { schema: { body: Type.Object({ text: Type.String() }) } }, () => ({ turns: turn - parsedIn }));
  const count = (): void => {
    turn++;
    waiting = setImmediate(count);
  };
  let waiting = setImmediate(count);
  const post = async (length: number): Promise<number> =>
    (await app.inject({ method: 'POST', url: '/', payload: { text: 'x'.repeat(length) } })).json<{ turns: number }>()
      .turns;
  expect(await post(300_000)).toBeGreaterThanOrEqual(2);
  expect(await post(10)).toBe(0);
  clearImmediate(waiting);
});
