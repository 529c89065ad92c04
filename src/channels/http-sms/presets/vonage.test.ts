import { expect, test } from 'vitest';
import {
  carrierFacing,
  FORGED,
  message,
  presetConformance,
  readCallback,
} from '../../../../test/support/carriers/http-sms-harness.ts';
import type { SandboxRequest } from '../../../sandbox/http-server.ts';

// Responses and callbacks as developer.vonage.com/messaging/sms shows them (guides troubleshooting-sms,
// delivery-receipts, inbound-sms).

const SETTINGS = { preset: 'vonage', account: 'abcd1234' } as const;
const sentAs = (...ids: string[]) => ({
  status: 200,
  body: {
    'message-count': String(ids.length),
    messages: ids.map((id) => ({
      to: '447700900000',
      'message-id': id,
      status: '0',
      'remaining-balance': '15.53590000',
      'message-price': '0.03330000',
      network: '23410',
    })),
  },
});
const error = (status: string, text: string) => ({
  status: 200,
  body: { 'message-count': '1', messages: [{ status, 'error-text': text }] },
});
const fields = ({ body }: SandboxRequest) => Object.fromEntries(new URLSearchParams(body.toString()));

presetConformance({
  settings: SETTINGS,
  accept: (n) => sentAs(`0C00000021${n}`),
  refuse: error('7', 'Number barred.'),
  busy: error('1', 'Throughput rate exceeded - please wait [ 250 ] and retry'),
  numberIn: (request) => String(fields(request)['to']),
});

test('a message is sent as a form, with its alphabet and its validity in milliseconds', async () => {
  const { carrier, sent } = await carrierFacing(SETTINGS, () => sentAs('A1', 'A2'));
  const one = message({ body: 'Привет', validUntil: new Date(Date.now() + 30 * 86_400_000) });
  expect(await carrier.submit(one)).toEqual({ kind: 'accepted', carrierIds: ['A1', 'A2'] });
  const [request] = sent;
  expect(request?.path).toBe('/sms/json');
  expect(request && fields(request)).toEqual({
    api_key: 'abcd1234',
    api_secret: 'the-api-key',
    to: '351912345678',
    from: 'ACME',
    text: 'Привет',
    type: 'unicode',
    ttl: '604800000',
    'client-ref': one.messageId,
    callback: expect.stringMatching(/^https:.*token=/),
  });
});

test.each([
  [error('6', 'Unroutable message - rejected'), { kind: 'refused', status: 'UNDELIVERABLE', code: '6' }],
  [error('33', 'Number De-activated'), { kind: 'refused', status: 'UNDELIVERABLE', code: '33', elsewhere: false }],
  [error('15', 'Illegal Sender Address - rejected'), { kind: 'refused', elsewhere: true }],
  [error('77', 'Something new'), { kind: 'refused', elsewhere: false, text: 'Something new' }],
  [error('5', 'Internal Error'), { kind: 'unknown' }],
  [error('4', 'Bad Credentials'), { kind: 'retry', counts: false, code: '4' }],
  [error('9', 'Quota Exceeded - rejected'), { kind: 'retry', counts: false }],
])('response %#: %j', async (got, outcome) => {
  const { carrier } = await carrierFacing(SETTINGS, () => got);
  expect(await carrier.submit(message())).toMatchObject(outcome);
});

const RECEIPT = {
  msisdn: '447700900000',
  to: 'AcmeInc',
  'network-code': '12345',
  messageId: '0A0000001234567B',
  price: '0.03330000',
  status: 'failed',
  scts: '2001011400',
  'err-code': '6',
  'api-key': 'abcd1234',
  'client-ref': 'ours',
  'message-timestamp': '2026-11-26 12:00:00',
};
const READ = {
  kind: 'events',
  inbounds: [],
  receipts: [
    {
      carrierIds: ['0A0000001234567B', 'ours'],
      state: 'UNDELIVERABLE',
      errorCode: '6',
      destination: '447700900000',
      doneAt: new Date('2026-11-26T12:00:00Z'),
    },
  ],
};

test('a receipt is read from JSON and from a query, and refused without the token', () => {
  expect(readCallback(SETTINGS, {}, { body: RECEIPT })).toMatchObject(READ);
  const query = { ...RECEIPT, token: 'our-callback-token' };
  expect(readCallback(SETTINGS, {}, { body: '', query })).toMatchObject(READ);
  expect(readCallback(SETTINGS, {}, { body: RECEIPT, query: { token: 'guessed' } })).toEqual(FORGED);
});

test('an inbound message is read, with the number of its part', () => {
  const body = {
    'api-key': 'abcd1234',
    msisdn: '447700900001',
    to: '447700900000',
    messageId: '0A0000000123ABCD1',
    text: 'Hello world',
    type: 'text',
    'message-timestamp': '2026-11-26 12:00:00',
    concat: 'true',
    'concat-ref': '1',
    'concat-total': '3',
    'concat-part': '2',
  };
  expect(readCallback(SETTINGS, {}, { body })).toMatchObject({
    receipts: [],
    inbounds: [
      {
        source: '447700900001',
        destination: '447700900000',
        text: 'Hello world',
        concat: { ref: 1, total: 3, seq: 2 },
        rich: { id: '0A0000000123ABCD1' },
      },
    ],
  });
});
