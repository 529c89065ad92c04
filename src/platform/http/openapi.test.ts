import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import type { App } from './app.ts';
import { describeApi } from './openapi.ts';
import { ErrorOut, ref } from './schema.ts';
import { createServer } from './server.ts';

const Body = Type.Union([Type.Object({ note: Type.String() }), Type.Null()]);
const answers = { response: { 201: Type.Object({ id: Type.Integer() }), 409: ref(ErrorOut) } };

async function described() {
  const app = createServer(apiDeps());
  describeApi(app);
  app.register(async (scope: App) => {
    scope.post(
      '/things/:id',
      { schema: { operationId: 'a', params: Type.Object({ id: Type.Integer() }), body: Body, ...answers } },
      () => ({}) as never,
    );
    scope.post(
      '/services/things',
      { schema: { operationId: 'b', body: Type.Object({}), ...answers } },
      () => ({}) as never,
    );
    scope.get('/open', { schema: { operationId: 'c', security: [], response: { 200: Type.Object({}) } } }, () => ({}));
    const page = Type.Object({ page: Type.Integer({ default: 0 }), from: Type.String() });
    scope.get('/pages', { schema: { operationId: 'd', querystring: page } }, () => ({}));
    scope.get('/hidden', () => ({}));
  });
  await app.ready();
  return JSON.parse(JSON.stringify(app.swagger()));
}

test('an operation lists its possible errors, in the shape of its API', async () => {
  const { paths, components } = await described();
  const thing = paths['/things/{id}'].post.responses;
  expect(Object.keys(thing)).toEqual(['201', '400', '401', '403', '404', '409', '413', '415', '429', '500', '503']);
  expect(thing['401'].content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Error' });
  expect(thing['201'].description).toBe('Created');
  const wholesale = paths['/services/things'].post.responses['401'];
  expect(wholesale.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/WholesaleError' });
  expect(Object.keys(components.schemas)).toEqual(['Error', 'WholesaleError']);
  expect(Object.keys(paths['/open'].get.responses)).toEqual(['200']);
});

test('a body that may be left out is not required, others are', async () => {
  const { paths } = await described();
  expect(paths['/things/{id}'].post.requestBody.required).toBe(false);
  expect(paths['/services/things'].post.requestBody.required).toBe(true);
});

test('a parameter with a default may be left out, others not', async () => {
  const { paths } = await described();
  expect(paths['/pages'].get.parameters).toMatchObject([
    { name: 'page', required: false },
    { name: 'from', required: true },
  ]);
});

test('a route without a schema is left out', async () => {
  expect((await described()).paths).not.toHaveProperty('/hidden');
});
