import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import type { App } from './app.ts';
import { createServer } from './server.ts';
import { invalidFields } from '../errors.ts';
import { readFormFields } from './unknown-fields.ts';
import { readFaults } from './more-faults.ts';

const app = createServer(apiDeps());
app.register(async (scope: App) => {
  const body = Type.Object({ name: Type.String(), tags: Type.Optional(Type.Array(Type.String())) });
  const response = { 200: Type.Object({ name: Type.String() }) };
  scope.route({
    method: ['POST', 'PUT', 'PATCH'],
    url: '/object',
    schema: { body, response },
    handler: (request) => request.body,
  });
  scope.post('/empty', { schema: { body } }, () => ({}));
  scope.post('/list', { schema: { body } }, () => ['a']);
  scope.post('/page', { schema: { body } }, () => ({ data: Array.from({ length: 60 }, (_, i) => i) }));
  scope.post('/nothing', { schema: { body } }, (_request, reply) => reply.code(204).send());
  scope.post('/text', { schema: { body } }, (_request, reply) => reply.type('text/plain').send('{}'));
  scope.post('/bare', { schema: {} }, () => ({ done: true }));
  scope.post('/callback', { schema: { security: [] } }, () => ({ done: true }));
  const form = Type.Object({ listId: Type.Optional(Type.Integer()) });
  scope.post('/form', { schema: {}, config: { form } }, (request) => {
    return readFormFields(request, new Map([['listIds', '3']]), () => {
      if (request.headers['x-file'] === 'empty') throw invalidFields([{ field: 'file', message: 'is empty' }]);
      return { done: true };
    });
  });
  const refuseWrong = ({ name }: { name: string }): void => {
    if (name === 'wrong') throw invalidFields([{ field: 'name', message: 'is taken' }]);
  };
  scope.post('/read', { schema: { body }, config: { moreFaults: readFaults(body, refuseWrong) } }, () => ({ done: 1 }));
});

type Method = 'POST' | 'PUT' | 'PATCH';
async function ask(url: string, payload: object, headers = {}, method: Method = 'POST') {
  const answer = await app.inject({ method, url, payload, headers });
  const { 'x-warnings': header, 'content-length': length } = answer.headers;
  if (answer.body !== '') expect(Number(length)).toBe(Buffer.byteLength(answer.body));
  return { status: answer.statusCode, header, text: answer.body };
}
const WRONG = { name: 'Zoë', tag: ['x'] };
const WARNING = 'unknown field tag: did you mean tags?';

test('a response without unknown fields is as it was', async () => {
  expect(await ask('/object', { name: 'Zoë', tags: [] })).toEqual({
    status: 200,
    header: undefined,
    text: '{"name":"Zoë"}',
  });
});

test.each(['POST', 'PUT', 'PATCH'] as const)('the response to a %s names unknown fields', async (method) => {
  const { status, header, text } = await ask('/object', WRONG, {}, method);
  expect([status, header, JSON.parse(text)]).toEqual([200, undefined, { name: 'Zoë', warnings: [WARNING] }]);
});

test('so do an empty object, a page that is sent in pieces, and a route that reads no body', async () => {
  expect(JSON.parse((await ask('/empty', WRONG)).text)).toEqual({ warnings: [WARNING] });
  expect(JSON.parse((await ask('/page', WRONG)).text)).toMatchObject({ data: { length: 60 }, warnings: [WARNING] });
  expect(JSON.parse((await ask('/bare?x=1', { y: 1 })).text)).toEqual({
    done: true,
    warnings: ['unknown field x', 'unknown field y'],
  });
  expect(JSON.parse((await ask('/callback', { y: 1 })).text)).toEqual({ done: true });
});

test('so does the response to a form, whose fields arrive late, and strict handling refuses it', async () => {
  const warning = 'unknown field listIds: did you mean listId?';
  expect(JSON.parse((await ask('/form', {})).text)).toEqual({ done: true, warnings: [warning] });
  const { status, text } = await ask('/form', {}, { prefer: 'handling=strict' });
  expect([status, JSON.parse(text).message]).toEqual([400, 'listIds: is unknown: did you mean listId?']);
});

test.each(['/list', '/nothing', '/text'])('a response that is no object has a header: %s', async (url) => {
  const { header, text } = await ask(url, { name: 'a', 'tägs\r\nx': 1 });
  expect(header).toBe('unknown field t?gs??x');
  expect(text).not.toContain('unknown');
});

test('a client that prefers strict handling gets 400, and nothing is done', async () => {
  for (const prefer of ['handling=strict', 'respond-async, Handling = "strict"', 'wait=5; handling=strict']) {
    const { status, text } = await ask('/object?dry=1', WRONG, { prefer });
    expect([status, JSON.parse(text).details]).toEqual([
      400,
      [
        { field: 'dry', message: 'is unknown' },
        { field: 'tag', message: 'is unknown: did you mean tags?' },
      ],
    ]);
  }
  expect((await ask('/object', { name: 'a' }, { prefer: 'handling=strict' })).status).toBe(200);
  expect((await ask('/object', WRONG, { prefer: 'handling=lenient, nothandling=strict' })).status).toBe(200);
});

test('a 400 names them as well: what is missing may be there under another name', async () => {
  const { status, text } = await ask('/object', { nam: 'Zoë' });
  const { message, warnings } = JSON.parse(text);
  expect([status, message, warnings]).toEqual([400, 'name is required', ['unknown field nam: did you mean name?']]);
  const [nested, list] = [await ask('/object', { name: { nam: 1 } }), await ask('/object', [{ nam: 1 }])];
  expect([nested.status, JSON.parse(nested.text).warnings]).toEqual([400, undefined]);
  expect([list.status, JSON.parse(list.text).warnings]).toEqual([400, undefined]);
});

test('a 400 because of strict handling names them once', async () => {
  const { status, text } = await ask('/object', WRONG, { prefer: 'handling=strict' });
  expect([status, JSON.parse(text).warnings]).toEqual([400, undefined]);
});

test('strict handling names the unknown fields next to the invalid ones', async () => {
  const { status, text } = await ask('/object', { name: 5, tag: ['x'] }, { prefer: 'handling=strict' });
  const fields = JSON.parse(text).details.map(({ field }: { field: string }) => field);
  expect([status, fields]).toEqual([400, ['name', 'tag']]);
});

test('strict handling names the unknown fields next to what the handler would refuse', async () => {
  const fieldsOf = async (url: string, payload: object, headers = {}) => {
    const { status, text } = await ask(url, payload, { prefer: 'handling=strict', ...headers });
    return [status, ...JSON.parse(text).details.map(({ field }: { field: string }) => field)];
  };
  expect(await fieldsOf('/read', { name: 'wrong', tag: ['x'] })).toEqual([400, 'name', 'tag']);
  expect(await fieldsOf('/read', { name: 'wrong', tags: 5, tag: 1 })).toEqual([400, 'tags', 'name', 'tag']);
  expect(await fieldsOf('/read', { name: 'right', tag: ['x'] })).toEqual([400, 'tag']);
  expect(await fieldsOf('/form', {}, { 'x-file': 'empty' })).toEqual([400, 'file', 'listIds']);
});
