import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  carrierFacing,
  FORGED,
  message,
  presetConformance,
  readCallback,
} from '../../../../test/support/carriers/http-sms-harness.ts';
import type { SandboxRequest } from '../../../sandbox/http-server.ts';

// Responses as twilio.com/docs/messaging/api/message-resource and twilio.com/docs/usage/twilios-response show them;
// callbacks as twilio.com/docs/messaging/guides/track-outbound-message-status and …/webhook-request have them.

const SETTINGS = { preset: 'twilio', account: 'ACXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX' } as const;
const created = (sid: string) => ({
  status: 201,
  body: {
    account_sid: SETTINGS.account,
    api_version: '2010-04-01',
    body: 'Hi there',
    error_code: null,
    error_message: null,
    num_segments: '1',
    sid,
    status: 'queued',
    to: '+15558675310',
  },
});
const error = (status: number, code: number, text = 'An error') => ({
  status,
  body: { code, message: text, more_info: `https://www.twilio.com/docs/errors/${code}`, status },
});
const fields = ({ body }: SandboxRequest) => Object.fromEntries(new URLSearchParams(body.toString()));

presetConformance({
  settings: SETTINGS,
  accept: (n) => created(`SM${String(n).padStart(32, '0')}`),
  refuse: error(400, 21_211, "The 'To' number is not a valid phone number."),
  busy: error(429, 20_429, 'Too Many Requests'),
  numberIn: (request) => String(fields(request)['To']).slice(1),
});

test('a message is sent as a form, with the account and its token', async () => {
  const { carrier, sent } = await carrierFacing(SETTINGS, () => created('SM1'));
  const validUntil = new Date(Date.now() + 48 * 3_600_000);
  expect(await carrier.submit(message({ sender: '15017122661', validUntil }))).toEqual({
    kind: 'accepted',
    carrierIds: ['SM1'],
  });
  const [request] = sent;
  expect(request?.path).toBe(`/2010-04-01/Accounts/${SETTINGS.account}/Messages.json`);
  const authorization = Buffer.from(`${SETTINGS.account}:the-api-key`).toString('base64');
  expect(request?.headers.authorization).toBe(`Basic ${authorization}`);
  expect(request && fields(request)).toEqual({
    To: '+351912345678',
    From: '+15017122661',
    Body: 'Hi & "bye"',
    StatusCallback: expect.stringMatching(/^https:.*token=/),
    ValidityPeriod: '36000',
  });
});

test.each([
  [error(400, 21_614), { kind: 'refused', status: 'UNDELIVERABLE', elsewhere: false, code: '21614' }],
  [error(400, 21_610), { kind: 'refused', status: 'REJECTED', elsewhere: false }],
  [error(400, 21_606), { kind: 'refused', elsewhere: true }],
  [error(400, 99_999), { kind: 'refused', elsewhere: false }],
  [error(400, 21_612), { kind: 'refused', elsewhere: true }],
  [error(400, 21_635), { kind: 'refused', status: 'UNDELIVERABLE', elsewhere: false }],
  [error(429, 63_038), { kind: 'retry', counts: false, code: '63038' }],
  [error(400, 21_611), { kind: 'retry', counts: false }],
  [error(401, 20_003), { kind: 'retry', counts: false, code: '20003' }],
  [error(500, 20_500), { kind: 'unknown' }],
])('response %#: %j', async (got, outcome) => {
  const { carrier } = await carrierFacing(SETTINGS, () => got);
  expect(await carrier.submit(message())).toMatchObject(outcome);
});

const URL = 'https://sms.example.com/api/callbacks/http/acme?token=our-callback-token';

/** Signs as twilio.com/docs/usage/webhooks/webhooks-security describes it. */
function sign(form: string, key: string, url = URL): string {
  const pairs = [...new URLSearchParams(form)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHmac('sha1', key)
    .update(`${url}${pairs.flat().join('')}`)
    .digest('base64');
}

const deliver = (form: string, key = 'the-api-key') =>
  readCallback(SETTINGS, {}, { body: form, url: URL, query: {}, headers: { 'x-twilio-signature': sign(form, key) } });

const STATUS =
  'SmsSid=SM1&SmsStatus=undelivered&MessageStatus=undelivered&To=%2B351912345678&MessageSid=SM1&AccountSid=AC1' +
  '&From=%2B15017122661&ApiVersion=2010-04-01&ErrorCode=30003';

test('a signed receipt is read, one that another key has signed is not', () => {
  expect(deliver(STATUS)).toMatchObject({
    kind: 'events',
    inbounds: [],
    receipts: [{ carrierIds: ['SM1'], state: 'UNDELIVERABLE', errorCode: '30003', destination: '351912345678' }],
  });
  expect(deliver(STATUS.replaceAll('undelivered', 'delivered'))).toMatchObject({ receipts: [{ state: 'DELIVERED' }] });
  expect(deliver(STATUS, 'another-key')).toEqual(FORGED);
});

test('the signature may cover the URL with its standard port, but no other', () => {
  const withPort = (port: number) => URL.replace('example.com', `example.com:${port}`);
  const called = (url: string, signedUrl: string) => {
    const headers = { 'x-twilio-signature': sign(STATUS, 'the-api-key', signedUrl) };
    return readCallback(SETTINGS, {}, { body: STATUS, url, query: {}, headers });
  };
  expect(called(URL, withPort(443))).toMatchObject({ kind: 'events' });
  expect(called(withPort(8443), URL)).toMatchObject({ kind: 'events' });
  expect(called(URL, withPort(8443))).toEqual(FORGED);
  expect(called(URL, URL.replace('/acme', '/other'))).toEqual(FORGED);
});

test('the signature covers the query of the URL as it was written', () => {
  const url = `${URL}&order=17&name=a%20b&sum=1+2&empty=`;
  const called = (more: string) => {
    const headers = { 'x-twilio-signature': sign(STATUS, 'the-api-key', url) };
    return readCallback(SETTINGS, {}, { body: STATUS, url: `${url}${more}`, query: {}, headers });
  };
  expect(called('')).toMatchObject({ kind: 'events' });
  expect(called('x')).toEqual(FORGED);
  expect(called('&more=1')).toEqual(FORGED);
});

test('the signature of a GET does not cover a body that is added to it', () => {
  const query = { MessageSid: 'SM1', MessageStatus: 'sent' };
  const url = `${URL}&${new URLSearchParams(query)}`;
  const called = (body: object | string, type = 'application/json') =>
    readCallback(
      SETTINGS,
      {},
      { body, url, query, headers: { 'content-type': type, 'x-twilio-signature': sign('', 'the-api-key', url) } },
    );
  expect(called('')).toMatchObject({ receipts: [{ state: 'ACCEPTED' }] });
  const other = { MessageSid: 'SM1', MessageStatus: 'failed' };
  expect(called(other)).toEqual(FORGED);
  expect(called(other, 'text/plain')).toEqual(FORGED);
  expect(called(String(new URLSearchParams(other)), 'application/x-www-form-urlencoded')).toEqual(FORGED);
});

test('an inbound message is read with its id', () => {
  const form =
    'ToCountry=PT&SmsMessageSid=SM2&NumMedia=0&SmsSid=SM2&SmsStatus=received&Body=Ol%C3%A1+%26+bye&To=%2B351966000000' +
    '&NumSegments=1&MessageSid=SM2&AccountSid=AC1&From=%2B351912345678&ApiVersion=2010-04-01';
  expect(deliver(form)).toMatchObject({
    receipts: [],
    inbounds: [{ source: '351912345678', destination: '351966000000', text: 'Olá & bye', rich: { id: 'SM2' } }],
  });
});
