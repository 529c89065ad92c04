import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { type App, offsetOf, PageOf, pageFields, pageOf } from './app.ts';
import { createServer } from './server.ts';

const Query = Type.Object({ ...pageFields, search: Type.Optional(Type.String()) });
const app = createServer(apiDeps());
app.register(async (scope: App) => {
  scope.get('/list', { schema: { querystring: Query, response: { 200: PageOf(Type.Integer()) } } }, ({ query }) =>
    pageOf(query, [offsetOf(query)], 42),
  );
});

test('a list returns its first ten entries by default', async () => {
  expect((await app.inject('/list')).json()).toEqual({ data: [0], page: 0, limit: 10, total: 42 });
  expect((await app.inject('/list?page=3&limit=1000')).json()).toEqual({
    data: [3000],
    page: 3,
    limit: 1000,
    total: 42,
  });
});

test.each(['limit=1001', 'limit=0', 'limit=-1', 'limit=1.5', 'page=-1', 'page=x', 'page=1&page=2'])(
  '%s is refused, and named',
  async (query) => {
    const answer = await app.inject(`/list?${query}`);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().details).toEqual([{ field: query.split('=')[0], message: expect.any(String) }]);
  },
);
