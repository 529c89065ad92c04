import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { apiDeps } from '../../../test/support/http/api.ts';
import type { App } from './app.ts';
import { createServer } from './server.ts';

const Channel = Type.Enum(['SMS', 'RCS'], { type: 'string' });
const Body = Type.Object({
  channel: Type.Optional(Channel),
  onStatus: Type.Optional(Type.Array(Type.Enum(['ERROR', 'EXPIRED'], { type: 'string' }))),
  body: Type.Optional(
    Type.Union([
      Type.Object({ type: Type.Literal('TEXT'), text: Type.String() }),
      Type.Object({ type: Type.Literal('CARD'), height: Type.Enum(['SHORT', 'TALL'], { type: 'string' }) }),
    ]),
  ),
});
const app = createServer(apiDeps());
app.register(async (scope: App) => {
  const querystring = Type.Object({ channel: Type.Optional(Channel) });
  scope.post('/words', { schema: { body: Body, querystring } }, ({ body }) => body);
  const filters = Type.Object({
    limit: Type.Optional(Type.Integer()),
    order: Type.Optional(Type.Enum(['asc', 'desc'], { type: 'string' })),
    channels: Type.Optional(Type.Array(Channel)),
    modes: Type.Optional(Type.String({ pattern: '^(SMS|RCS_SMS)(,(SMS|RCS_SMS))*$' })),
    code: Type.Optional(Type.String({ pattern: '^[A-Z]\\d$' })),
    search: Type.Optional(Type.String()),
    unread: Type.Optional(Type.Boolean()),
  });
  scope.get('/words', { schema: { querystring: filters } }, ({ query }) => query);
});

async function post(payload: object, query = '') {
  const answer = await app.inject({ method: 'POST', url: `/words${query}`, payload });
  return [answer.statusCode, answer.json()];
}

test('words of a body may have any case, in lists, unions and inside of these', async () => {
  expect(await post({ channel: 'sms', onStatus: ['error', 'ERROR', 'Expired'] })).toEqual([
    200,
    { channel: 'SMS', onStatus: ['ERROR', 'ERROR', 'EXPIRED'] },
  ]);
  expect(await post({ body: { type: 'text', text: 'text' } })).toEqual([200, { body: { type: 'TEXT', text: 'text' } }]);
  expect(await post({ body: { type: 'Card', height: 'tall' } })).toEqual([
    200,
    { body: { type: 'CARD', height: 'TALL' } },
  ]);
});

test('words of a query may have any case, in repeated parameters and between commas too', async () => {
  const get = async (query: string) => {
    const answer = await app.inject({ url: `/words?${query}` });
    return [answer.statusCode, answer.json()];
  };
  expect(await get('order=DESC&channels=sms&channels=Rcs&modes=sms,rcs_SMS')).toEqual([
    200,
    { order: 'desc', channels: ['SMS', 'RCS'], modes: 'SMS,RCS_SMS' },
  ]);
  expect(await get('channels=rcs')).toEqual([200, { channels: ['RCS'] }]);
  for (const list of ['modes=SMS&modes=rcs_sms', 'modes=SMS,%20RCS_SMS', 'modes=sms+,+rcs_sms'])
    expect(await get(list), list).toEqual([200, { modes: 'SMS,RCS_SMS' }]);
  for (const [word, unread] of Object.entries({ True: true, TRUE: true, 1: true, False: false, 0: false }))
    expect(await get(`unread=${word}`), word).toEqual([200, { unread }]);
  for (const query of ['unread=yes', 'unread=2', 'search=a&search=b', 'limit=0x10', 'limit=1e2', 'limit=0b1'])
    expect((await get(query))[0], query).toBe(400);
  expect(await get('limit=16')).toEqual([200, { limit: 16 }]);
  for (const query of ['order=up', 'channels=fax', 'modes=sms,fax', 'modes=sms;', 'code=a1'])
    expect((await get(query))[0], query).toBe(400);
});

test('other words are refused', async () => {
  expect(await post({ channel: 'FAX', body: { type: 'text', text: 5 } })).toMatchObject([
    400,
    {
      details: [
        { field: 'channel', message: 'must be one of SMS, RCS' },
        { field: 'body.text', message: 'must be a string' },
      ],
    },
  ]);
  expect((await post({}, '?channel=fax'))[0]).toBe(400);
});

test('an optional field of a POST that is null counts as absent, at any depth and in every entry', async () => {
  const Item = Type.Object({
    text: Type.String(),
    rate: Type.Optional(Type.Integer()),
    at: Type.Optional(Type.String()),
  });
  const Bulk = Type.Object({ items: Type.Array(Item), note: Type.Optional(Type.Union([Type.String(), Type.Null()])) });
  const other = createServer(apiDeps());
  other.register(async (scope: App) => {
    scope.post('/bulk', { schema: { body: Bulk } }, ({ body }) => body);
    scope.put('/bulk', { schema: { body: Bulk } }, ({ body }) => body);
  });
  const send = async (method: 'POST' | 'PUT', payload: object) => {
    const answer = await other.inject({ method, url: '/bulk', payload });
    return [answer.statusCode, answer.json()];
  };
  const items = Array.from({ length: 3_000 }, (_, n) => ({ text: String(n), rate: n % 2 ? 1 : null, at: null }));
  const cleared = items.map(({ text, rate }) => (rate === null ? { text } : { text, rate }));
  expect(await send('POST', { items, note: null })).toEqual([200, { items: cleared, note: null }]);
  const detail = { field: 'items[0].text', message: 'is required' };
  expect(await send('POST', { items: [{ text: null, rate: null }] })).toMatchObject([400, { details: [detail] }]);
  expect(await send('POST', { items: [null] })).toMatchObject([400, { details: [{ field: 'items[0]' }] }]);
  expect(await send('PUT', { items: [{ text: 'x', rate: null }] })).toMatchObject([
    400,
    { details: [{ field: 'items[0].rate', message: 'must be a whole number' }] },
  ]);
});

test('an empty filter of a list counts as absent, unless it is none that the path knows', async () => {
  const get = async (query: string) => (await app.inject({ method: 'GET', url: `/words?${query}` })).json();
  expect(await get('order=&code=&channels=')).toEqual({});
  expect(await get('order=asc&other=')).toEqual({ order: 'asc', other: '' });
});
