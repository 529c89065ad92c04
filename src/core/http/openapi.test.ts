import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import { type App, ErrorOut, ref, withExamples } from './app.ts';
import { requireSameOrigin } from './browser.ts';
import { describeApi } from './openapi.ts';
import { createServer } from './server.ts';

const Body = Type.Union([Type.Object({ note: Type.String() }), Type.Null()]);
const answers = { response: { 201: Type.Object({ id: Type.Integer() }), 409: ref(ErrorOut) } };

const schemaOf = (response: { content: Record<string, { schema: object }> }) =>
  response.content['application/json']?.schema;

async function described(readExamples?: Parameters<typeof describeApi>[1]) {
  const app = createServer(apiDeps());
  describeApi(app, readExamples);
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
    const response = { 502: { ...ref(ErrorOut), description: 'The network said no.' } };
    scope.get('/pages', { schema: { operationId: 'd', querystring: page, response } }, () => ({}) as never);
    const exemplified = withExamples(Body, { note: 'Hello' });
    scope.post('/examples', { schema: { operationId: 'e', body: exemplified } }, () => ({}));
    const own = { operationId: 'f', security: [], response: { 200: Type.Object({}) } };
    scope.post('/own', { onRequest: requireSameOrigin, schema: own }, () => ({}));
    scope.get(
      '/health/open',
      { schema: { operationId: 'g', security: [], response: { 200: Type.Object({}) } } },
      () => ({}),
    );
    const file = { 200: Type.String(), 416: ref(ErrorOut) };
    scope.get('/file', { schema: { operationId: 'h', produces: ['text/csv'], response: file } }, () => '');
    scope.get('/hidden', () => ({}));
  });
  await app.ready();
  return JSON.parse(JSON.stringify(app.swagger()));
}

test('an operation lists its possible errors, in the shape of its API', async () => {
  const { paths, components } = await described();
  const thing = paths['/things/{id}'].post.responses;
  expect(Object.keys(thing)).toEqual(['201', '400', '401', '403', '404', '409', '413', '415', '429', '500', '503']);
  expect(thing['401']).toEqual({ $ref: '#/components/responses/Error401' });
  expect(schemaOf(components.responses.Error401)).toEqual({ $ref: '#/components/schemas/Error' });
  expect(thing['201'].description).toBe('Created');
  expect(paths['/services/things'].post.responses['401']).toEqual({ $ref: '#/components/responses/WholesaleError401' });
  expect(schemaOf(components.responses.WholesaleError401)).toEqual({ $ref: '#/components/schemas/WholesaleError' });
  expect(Object.keys(components.schemas)).toEqual(['Error', 'WholesaleError']);
  expect(Object.keys(paths['/open'].get.responses)).toEqual(['200', '403']);
  expect(Object.keys(paths['/health/open'].get.responses)).toEqual(['200']);
});

test('an error that a route describes itself keeps its description, and has an example as well', async () => {
  const { content, description } = (await described()).paths['/pages'].get.responses['502'];
  expect(description).toBe('The network said no.');
  expect(content['application/json'].example).toMatchObject({ status: 502, error: 'Bad Gateway' });
});

test('an error is JSON where the other responses are not', async () => {
  const { paths, components } = await described();
  const { responses } = paths['/file'].get;
  expect(Object.keys(responses['200'].content)).toEqual(['text/csv']);
  expect(responses['416']).toEqual({ $ref: '#/components/responses/Error416' });
  expect(Object.keys(components.responses.Error416.content)).toEqual(['application/json']);
});

test('the example of an error has all that its shape requires', async () => {
  const { responses, schemas } = (await described()).components;
  for (const [name, shape] of [
    ['Error401', 'Error'],
    ['WholesaleError401', 'WholesaleError'],
  ] as const)
    expect(Object.keys(responses[name].content['application/json'].example)).toEqual(
      expect.arrayContaining(schemas[shape].required),
    );
});

test('recorded examples appear where the description has a place for them', async () => {
  const { paths, components } = await described(() => ({
    a: { path: { id: 7 }, status: 201, answer: { id: 7 }, refusal: { message: 'note: is required' } },
    d: { query: { from: 2027 }, status: 200, answer: 'not described' },
  }));
  const { parameters, responses } = paths['/things/{id}'].post;
  expect(parameters).toMatchObject([{ name: 'id', example: 7 }, { in: 'header' }]);
  expect(responses['201'].content['application/json'].example).toEqual({ id: 7 });
  expect(responses['400'].content['application/json'].example).toEqual({ message: 'note: is required' });
  // A text, because the parameter is one.
  expect(paths['/pages'].get.parameters[1].example).toBe('2027');
  expect(components.responses.Error400.content['application/json'].example.details).toHaveLength(1);
});

test('examples of a body are given to one operation and leave the shared schema as it is', async () => {
  const body = (await described()).paths['/examples'].post.requestBody;
  expect(body.content['application/json'].example).toEqual({ note: 'Hello' });
  expect(Object.keys(Body)).not.toContain('examples');
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

test('an operation for the pages of the console names the headers without which it is refused', async () => {
  const { paths } = await described();
  const headers = (operation: { parameters?: { name: string; in: string; required?: boolean }[] }) =>
    (operation.parameters ?? []).flatMap((one) => (one.in === 'header' ? [[one.name, one.required === true]] : []));
  expect(headers(paths['/own'].post)).toEqual([
    ['X-Heliograph-Console', true],
    ['Origin', false],
  ]);
  expect(headers(paths['/things/{id}'].post)).toEqual([['Idempotency-Key', false]]);
});
