import { expect, test } from 'vitest';
import { message } from '../../../test/support/carriers/http-sms-harness.ts';
import { expectLinear } from '../../../test/support/linear.ts';
import { cStringValue, encodeTlvs } from '../../smpp/wire.ts';
import type { Submission } from '../carrier.ts';
import { compileRequests, sharedValues, valuesOf } from './request.ts';
import { checkSecrets, parseHttpSmsSecrets, parseHttpSmsSettings, resolveSettings } from './settings.ts';
import { compilePlace, toDocument } from './template.ts';

const SECRETS = parseHttpSmsSecrets({ apiKey: 'se"cret', callbackToken: 'our-callback-token' });
const NOW = Date.UTC(2026, 10, 26);

function requestOf(request: object, submission: Partial<Submission> = {}, more: object = {}) {
  const resolved = resolveSettings(
    parseHttpSmsSettings({
      baseUrl: 'https://sms.example.com/v1/',
      account: 'acme',
      ...more,
      request: { path: '/send', ...request },
    }),
  );
  const shared = sharedValues(resolved, SECRETS, 'https://us.example.com/cb?token=t');
  return compileRequests(resolved, SECRETS).send(valuesOf(shared, resolved.request, message(submission), NOW));
}

const HOSTILE = '","to":"+1999\\\r\n{{apiKey}}&to=1#?/../';

test('a value in JSON is one member, whatever it contains', () => {
  const body = { message: { text: 'Say {{text}}', to: ['{{toDigits}}'] }, key: '{{apiKey}}' };
  expect(JSON.parse(String(requestOf({ body }, { body: HOSTILE })?.body))).toEqual({
    message: { text: `Say ${HOSTILE}`, to: ['351912345678'] },
    key: 'se"cret',
  });
});

test('parameters of a message are variables, and fields without one are omitted', () => {
  const body = { pe: '{{dlt.entityId}}', template: '{{dlt.templateId}}', more: '{{tlv.0x1403}}' };
  const tlvs = encodeTlvs(
    new Map([
      [0x1400, cStringValue('1101')],
      [0x1403, cStringValue('x')],
    ]),
  );
  expect(JSON.parse(String(requestOf({ body }, { tlvs })?.body))).toEqual({ pe: '1101', more: 'x' });
  expect(() => requestOf({ body: { pe: '{{dlt.other}}' } })).toThrow('dlt.other');
});

test('a value in a form is one field, whatever it contains', () => {
  const sent = requestOf({ format: 'form', body: { text: '{{text}}', to: '{{to}}' } }, { body: HOSTILE });
  expect([...new URLSearchParams(String(sent?.body))]).toEqual([
    ['text', HOSTILE],
    ['to', '+351912345678'],
  ]);
  expect(sent?.headers['content-type']).toBe('application/x-www-form-urlencoded');
});

test('a value in a query or a path is one parameter or one segment, whatever it contains', () => {
  const request = {
    method: 'GET',
    format: 'none',
    path: '/{{account}}/{{text}}',
    query: { 't&x': '{{text}}', to: '{{to}}' },
  };
  const url = new URL(`https://sms.example.com${requestOf(request, { body: HOSTILE })?.path}`);
  expect(url.pathname.split('/').map(decodeURIComponent)).toEqual(['', 'v1', 'acme', HOSTILE]);
  expect([...url.searchParams]).toEqual([
    ['t&x', HOSTILE],
    ['to', '+351912345678'],
  ]);
});

test('fixed text in a query is text, too, and need not be encoded', () => {
  const request = { method: 'GET', format: 'none', query: { text: 'From A&B: {{text}} 100%' } };
  const url = new URL(`https://sms.example.com${requestOf(request, { body: 'Olá' })?.path}`);
  expect([...url.searchParams]).toEqual([['text', 'From A&B: Olá 100%']]);
});

test('a value cannot add a header: the message is not sent', () => {
  const request = { headers: { 'X-Text': '{{text}}' }, body: {} };
  expect(requestOf(request, { body: 'one\r\nX-Other: two' })).toBeNull();
  expect(requestOf(request, { body: 'one' })?.headers).toMatchObject({ 'x-text': 'one' });
});

test('numbers and booleans stay such, and what has no value is left out with what contains nothing else', () => {
  const body = {
    parts: '{{parts}}',
    report: '{{wantReceipt}}',
    options: { validity: { seconds: '{{validitySeconds}}' } },
    from: '{{from}}',
  };
  expect(JSON.parse(String(requestOf({ body }, { sender: '' })?.body))).toEqual({ parts: 1, report: true });
  const limited = requestOf({ body }, { validUntil: new Date(NOW + 90_000), sender: '351966123456' });
  expect(JSON.parse(String(limited?.body))).toMatchObject({
    options: { validity: { seconds: 90 } },
    from: '+351966123456',
  });
});

test('the alphabet and the number of parts are those of the text', () => {
  const request = { body: { type: '{{encoding}}', parts: '{{parts}}' }, gsm: 'text', ucs2: 'unicode' };
  expect(JSON.parse(String(requestOf(request, { body: 'a'.repeat(161) })?.body))).toEqual({ type: 'text', parts: 2 });
  expect(JSON.parse(String(requestOf(request, { body: 'Привет' })?.body))).toEqual({ type: 'unicode', parts: 1 });
});

test('credentials are written as the carrier wants them', () => {
  expect(requestOf({ auth: 'bearer' })?.headers['authorization']).toBe('Bearer se"cret');
  const basic = requestOf({ auth: 'basic', username: '{{account}}' })?.headers['authorization'] ?? '';
  expect(Buffer.from(basic.replace('Basic ', ''), 'base64').toString()).toBe('acme:se"cret');
});

test.each([
  ['a variable that does not exist', { body: { a: '{{nothing}}' } }, 'request.body: has no variable {{nothing}}'],
  ['a header that the client writes', { headers: { 'Content-Length': '1' } }, 'request.headers'],
  ['a name that is no header', { headers: { 'a b': '1' } }, 'request.headers'],
  ['a path that no request can have', { path: '/send message/{{ to }}' }, 'request.path: has characters'],
  ['a path with a fragment', { path: '/send#{{to}}' }, 'request.path: has characters'],
  ['a header that no request can have', { headers: { 'X-Name': 'Zoë – {{text}}' } }, 'request.headers: X-Name'],
  ['a form that is no list of fields', { format: 'form', body: { a: 1 } }, 'request.body'],
  ['a GET with a body', { method: 'GET' }, 'request.format'],
  ['repeats that the carrier cannot recognise', { idempotent: true, body: { a: '{{text}}' } }, 'request.idempotent'],
])('settings with %s are refused by their field', (_, request, fault) => {
  expect(() => requestOf(request)).toThrow(fault);
});

test('a path for checks has only variables of the connection', () => {
  expect(() => requestOf({}, {}, { probePath: '/{{account}}/state?key={{apiKey}}' })).not.toThrow();
  expect(() => requestOf({}, {}, { probePath: '/state/{{to}}' })).toThrow('probePath: has no variable {{to}}');
});

test('a key with a line break is refused where it would be sent in a header', () => {
  const settings = parseHttpSmsSettings({ baseUrl: 'https://a.example', request: { path: '/', auth: 'bearer' } });
  const withKey = (apiKey: string) => parseHttpSmsSecrets({ apiKey, callbackToken: 'our-callback-token' });
  expect(() => checkSecrets(settings, withKey('key\n'))).toThrow('apiKey: must have no line breaks');
  expect(() => checkSecrets(settings, withKey('key'))).not.toThrow();
});

const polling = { path: '/events?since={{cursor}}', cursor: '/next' };
const RECEIPTS = { ids: ['/id'], state: '/state', states: {} };

test.each([
  ['without its cursor', { poll: { ...polling, path: '/events' }, receipts: RECEIPTS }, 'poll.path'],
  [
    'with a variable of messages',
    { poll: { ...polling, path: '/{{to}}/{{cursor}}' }, receipts: RECEIPTS },
    'poll.path',
  ],
  ['of nothing', { poll: polling }, 'poll: needs receipts or inbound'],
  [
    'of messages that could count twice',
    { poll: polling, inbound: { from: '/from', to: '/to', text: '/text' } },
    'inbound.id: is required with poll',
  ],
])('polling %s is refused by its field', (_, more, fault) => {
  expect(() => requestOf({}, {}, more)).toThrow(fault);
});

test('an address of a carrier must be HTTPS, and a preset names what it needs', () => {
  expect(() => parseHttpSmsSettings({ baseUrl: 'http://sms.example.com', request: { path: '/' } })).toThrow(
    'baseUrl: must begin with https://',
  );
  expect(() => parseHttpSmsSettings({ preset: 'heliograph' })).toThrow('baseUrl: is required by the preset heliograph');
  expect(() => parseHttpSmsSettings({ preset: 'heliograph', baseUrl: 'https://a.example', nothing: 1 })).toThrow(
    'nothing: unknown setting',
  );
});

const place = (where: string, body: string, headers = {}) =>
  compilePlace(where)(toDocument(Buffer.from(body), headers, { q: 'x' }));

test('places are JSON pointers, headers, parameters and marks in a text', () => {
  const json = '{"a":[{"b/c":"x","n":7,"t":true}]}';
  expect([place('/a/0/b~1c', json), place('/a/0/n', json), place('/a/0/t', json), place('/a/1/n', json)]).toEqual([
    'x',
    '7',
    'true',
    '',
  ]);
  expect(place('header:Location', '', { location: '/m/1' })).toBe('/m/1');
  expect(place('query:q', '')).toBe('x');
  expect(place('text:ID: *;', 'OK ID: 42; more')).toBe('42');
  expect(place('text:ID: *', 'OK ID: 42 more')).toBe('42');
  expect(place('text:ID: *;', 'OK ID: 42')).toBe('');
  expect(place('/__proto__/toString', '{}')).toBe('');
});

test('marks in a text are found in linear time', () =>
  expectLinear(
    (size) => toDocument(Buffer.from('<id>'.repeat(size)), {}),
    (document) => compilePlace('text:<id>*</id>')(document),
  ));
