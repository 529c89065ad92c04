import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { type CallbackRequest, compileCallbacks } from './callbacks.ts';
import { parseHttpSmsSecrets, parseHttpSmsSettings, resolveSettings } from './settings.ts';

const TOKEN = 'our-callback-token';
const SECRETS = parseHttpSmsSecrets({ apiKey: 'api-key', signingKey: 'signing-key', callbackToken: TOKEN });
const BASE = { baseUrl: 'https://sms.example.com', request: { path: '/sms', body: { text: '{{text}}' } } };

const PROTOCOL = {
  ...BASE,
  receipts: {
    ids: ['/id', '/ref'],
    state: '/state',
    states: { ok: 'DELIVERED', bad: 'UNDELIVERABLE' },
    code: '/err',
    at: '/at',
    to: '/to',
  },
  inbound: {
    id: '/mo',
    from: '/from',
    to: '/number',
    text: '/text',
    at: '/at',
    ref: '/ref',
    total: '/total',
    part: '/part',
  },
};

const reader = (settings: object = {}) =>
  compileCallbacks(resolveSettings(parseHttpSmsSettings({ ...PROTOCOL, ...settings })), SECRETS);

const request = (body: object | string, more: Partial<CallbackRequest> = {}): CallbackRequest => ({
  url: `https://gateway.example.com/api/callbacks/http/acme?token=${TOKEN}`,
  query: { token: TOKEN },
  headers: { 'content-type': typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json' },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  ...more,
});

test('of several places of a state, the first that is known counts', () => {
  const states = { TO_OPERATOR: 'ACCEPTED', OK: 'DELIVERED' };
  const read = reader({ receipts: { ids: ['/id'], state: '/name | /group', states }, inbound: undefined });
  const stateOf = (body: object) => {
    const got = read(request({ id: 'a', ...body }));
    return got.kind === 'events' ? got.receipts[0]?.state : got.kind;
  };
  expect(stateOf({ name: 'to_operator', group: 'ok' })).toBe('ACCEPTED');
  expect(stateOf({ name: 'anything else', group: 'ok' })).toBe('DELIVERED');
  expect(stateOf({ name: 'anything else', group: 'new' })).toBe('UNKNOWN');
});

test('none of too many events is left out: all are refused', () => {
  const receipts = { list: '/events', ids: ['/id'], state: '/state', states: { ok: 'DELIVERED' } };
  const read = reader({ receipts, inbound: undefined });
  const body = (count: number) => ({ events: Array.from({ length: count }, (_, id) => ({ id: id + 1, state: 'ok' })) });
  expect(read(request(body(20_001)))).toEqual({ kind: 'malformed' });
  const all = read(request(body(20_000)));
  expect(all.kind === 'events' && all.receipts.length).toBe(20_000);
});

test('an event that is nested without end is read like any other', () => {
  const receipts = { list: '/events', ids: ['/id'], state: '/state', states: { ok: 'DELIVERED' } };
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const body = Buffer.from(`{"events":[{"id":"a","state":"ok","more":${deep}}]}`);
  const got = reader({ receipts, inbound: undefined })(request({}, { body }));
  expect(got).toMatchObject({ kind: 'events', receipts: [{ carrierIds: ['a'], state: 'DELIVERED' }] });
});

test('events in a query are only taken if the signature covers it', () => {
  const signed = (over: string, text: string) => {
    const read = reader({ verify: { by: 'signature', name: 'x-signature', over } });
    const signature = createHmac('sha256', 'signing-key').update(text).digest('hex');
    const query = { id: 'a', state: 'ok' };
    return read({
      url: 'https://us.example/cb?id=a',
      query,
      headers: { 'x-signature': signature },
      body: Buffer.alloc(0),
    });
  };
  expect(signed('{{body}}', '')).toEqual({ kind: 'malformed' });
  expect(signed('{{url}}', 'https://us.example/cb?id=a')).toMatchObject({ receipts: [{ carrierIds: ['a'] }] });
});

test('a receipt is read with all of its ids, its state in any case, its time and its error', () => {
  const body = { id: 7, ref: 'ours', state: 'BAD', err: 31, at: '2026-11-26 11:00:00', to: '+351912345678' };
  expect(reader()(request(body))).toMatchObject({
    kind: 'events',
    inbounds: [],
    receipts: [
      {
        carrierIds: ['7', 'ours'],
        state: 'UNDELIVERABLE',
        errorCode: '31',
        doneAt: new Date('2026-11-26T11:00:00Z'),
        destination: '351912345678',
      },
    ],
  });
});

test('a state that is not in the table changes nothing, and a delivered message has no error', () => {
  expect(reader()(request({ id: 'a', state: 'strange' }))).toMatchObject({ receipts: [{ state: 'UNKNOWN' }] });
  expect(reader()(request({ id: 'a', state: 'ok', err: '0' }))).toMatchObject({ receipts: [{ errorCode: null }] });
});

test('the fields of a form and of a query are read like the members of JSON', () => {
  const receipt = { receipts: [{ carrierIds: ['a b'], state: 'DELIVERED' }] };
  expect(reader()(request('id=a+b&state=ok'))).toMatchObject(receipt);
  const query = { token: TOKEN, id: 'a b', state: 'ok' };
  expect(reader()(request('', { query, body: Buffer.alloc(0), headers: {} }))).toMatchObject(receipt);
});

test('each event of a list is read by itself', () => {
  const settings = { receipts: { ...PROTOCOL.receipts, list: '/results' } };
  const results = [{ id: 'a', state: 'ok' }, { nothing: 1 }, { id: 'b', state: 'bad' }];
  expect(reader(settings)(request({ results }))).toMatchObject({
    receipts: [{ carrierIds: ['a'] }, { carrierIds: ['b'] }],
  });
});

test('an inbound message is read, with the number of its part', () => {
  const body = {
    mo: 'm1',
    from: '+351912345678',
    number: '+351966',
    text: 'Olá',
    at: '1790000000',
    ref: 'x',
    total: '2',
    part: '2',
  };
  expect(reader()(request(body))).toMatchObject({
    receipts: [],
    inbounds: [
      {
        source: '351912345678',
        destination: '351966',
        text: 'Olá',
        concat: { total: 2, seq: 2 },
        rich: { channel: 'SMS', id: 'm1', at: new Date(1_790_000_000_000) },
      },
    ],
  });
});

test('what is neither a receipt nor a message is noted, and what is no JSON is malformed', () => {
  expect(reader()(request({ hello: 1 }))).toMatchObject({
    kind: 'events',
    receipts: [],
    inbounds: [],
    notes: [expect.anything()],
  });
  expect(reader()(request({}, { body: Buffer.from('{') }))).toEqual({ kind: 'malformed' });
});

const GENUINE = { id: 'a', state: 'ok' };
const FORGED = { kind: 'forged' };
const hmac = (algorithm: string, key: string, text: string, encoding: 'hex' | 'base64'): string =>
  createHmac(algorithm, key).update(text).digest(encoding);

test('the token of ours is accepted in a parameter, a header or as a password, and nothing else is', () => {
  expect(reader()(request(GENUINE))).toMatchObject({ kind: 'events' });
  expect(reader()(request(GENUINE, { query: {} }))).toEqual(FORGED);
  expect(reader()(request(GENUINE, { query: { token: `${TOKEN}x` } }))).toEqual(FORGED);
  const byHeader = reader({ verify: { by: 'header', name: 'X-Token' } });
  expect(byHeader(request(GENUINE, { headers: { 'x-token': TOKEN } }))).toMatchObject({ kind: 'events' });
  expect(byHeader(request(GENUINE))).toEqual(FORGED);
  const basic = (password: string) => ({ authorization: `Basic ${Buffer.from(`any:${password}`).toString('base64')}` });
  const byPassword = reader({ verify: { by: 'basic' } });
  expect(byPassword(request(GENUINE, { headers: basic(TOKEN) }))).toMatchObject({ kind: 'events' });
  expect(byPassword(request(GENUINE, { headers: basic('wrong') }))).toEqual(FORGED);
  expect(byPassword(request(GENUINE, { headers: {} }))).toEqual(FORGED);
});

test('a signature covers exactly the bytes of the body', () => {
  const read = reader({ verify: { by: 'signature', name: 'X-Sign', prefix: 'sha256=' } });
  const genuine = request(GENUINE);
  const signature = `sha256=${hmac('sha256', 'signing-key', String(genuine.body), 'hex')}`;
  const signed = (value: string, body = genuine.body) =>
    read({ ...genuine, body, query: {}, headers: { 'x-sign': value } });
  expect(signed(signature)).toMatchObject({ kind: 'events' });
  expect(signed(signature.toUpperCase().replace('SHA256', 'sha256'))).toMatchObject({ kind: 'events' });
  expect(signed(signature, Buffer.from(`${genuine.body} `))).toEqual(FORGED);
  expect(signed(signature.slice('sha256='.length))).toEqual(FORGED);
  expect(signed('')).toEqual(FORGED);
});

test('a signature over an URL and the sorted fields of a form is that of the published example', () => {
  // The example of twilio.com/docs/usage/webhooks/webhooks-security, in the snippets that Twilio publishes.
  const verify = {
    by: 'signature',
    name: 'x-twilio-signature',
    algorithm: 'hmac-sha1',
    encoding: 'base64',
    over: '{{url}}{{params}}',
  };
  const secrets = { ...SECRETS, signingKey: '12345' };
  const read = compileCallbacks(resolveSettings(parseHttpSmsSettings({ ...PROTOCOL, verify })), secrets);
  const form = 'Digits=1234&To=%2B18005551212&From=%2B14158675310&Caller=%2B14158675310&CallSid=CA1234567890ABCDE';
  const signed = (signature: string, url = 'https://mycompany.com/myapp.php?foo=1&bar=2') =>
    read(request(form, { url, query: {}, headers: { ...request(form).headers, 'x-twilio-signature': signature } }));
  const expected = 'GvWf1cFY/Q7PnoempGyD5oXAezc=';
  expect(signed(expected)).toMatchObject({ kind: 'events' });
  expect(signed(expected, 'https://mycompany.com/myapp.php?foo=1&bar=3')).toEqual(FORGED);
});

test('a signature that is too old is refused', () => {
  const verify = {
    by: 'signature',
    name: 'x-sign',
    over: '{{header:x-at}}.{{body}}',
    timestamp: 'header:x-at',
    maxAgeSeconds: 60,
  };
  const read = reader({ verify });
  const genuine = request(GENUINE);
  const at = (seconds: number) => {
    const time = String(Math.floor(Date.now() / 1000) - seconds);
    const signature = hmac('sha256', 'signing-key', `${time}.${String(genuine.body)}`, 'hex');
    return read({ ...genuine, headers: { 'x-sign': signature, 'x-at': time } });
  };
  expect(at(10)).toMatchObject({ kind: 'events' });
  expect(at(70)).toEqual(FORGED);
});

test('a connection without the key that signs cannot read callbacks', () => {
  const settings = resolveSettings(parseHttpSmsSettings({ ...PROTOCOL, verify: { by: 'signature', name: 'x-sign' } }));
  expect(() => compileCallbacks(settings, { ...SECRETS, signingKey: '' })).toThrow('signingKey: is required');
});
