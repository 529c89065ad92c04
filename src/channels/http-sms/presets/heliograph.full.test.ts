import { expect, test } from 'vitest';
import {
  carrierFacing,
  FORGED,
  message,
  presetConformance,
  readCallback,
} from '../../../../test/support/carriers/http-sms-harness.ts';
import { makeSecret, signedHeaders, timestampOf } from '../../../webhooks/send.ts';

// Responses and events as docs/api.md and docs/openapi.json of this repository have them.

const SETTINGS = { preset: 'heliograph' } as const;
const answer = (messageId: string | null, result: object) => ({
  status: 200,
  body: { messageId, customerMessageId: null, simulation: false, results: [result] },
});
const accepted = (id: string) => answer(id, { accepted: true, channel: 'SMS', statusCode: 200, reasons: [] });
const refused = (statusCode: number, reason: string) =>
  answer(null, { accepted: false, channel: 'SMS', statusCode, reasons: [reason] });

presetConformance({
  settings: SETTINGS,
  accept: (n) => accepted(`018f0000-0000-7000-8000-${String(n).padStart(12, '0')}`),
  refuse: refused(403, 'the number has opted out of messages on this channel'),
  busy: { status: 429, headers: { 'retry-after': '0' }, body: { status: 429, message: 'Too many requests' } },
  numberIn: ({ body }) => String(JSON.parse(body.toString()).phoneNumber).slice(1),
  keyIn: ({ headers }) => String(headers['idempotency-key']),
});

test('a message is sent with the key, our id and its validity', async () => {
  const { carrier, sent } = await carrierFacing(SETTINGS, () => accepted('m-1'));
  const one = message({ validUntil: new Date(Date.now() + 90_000) });
  expect(await carrier.submit(one)).toEqual({ kind: 'accepted', carrierIds: ['m-1'] });
  expect(sent[0]).toMatchObject({ method: 'POST', path: '/api/message-server/sms/send' });
  expect(sent[0]?.headers).toMatchObject({ 'x-api-key': 'the-api-key', 'idempotency-key': one.messageId });
  expect(JSON.parse(String(sent[0]?.body))).toEqual({
    phoneNumber: '+351912345678',
    senderName: 'ACME',
    message: 'Hi & "bye"',
    customerMessageId: one.messageId,
    enableNotification: true,
    validityPeriod: 2,
  });
});

test.each([
  [refused(400, 'no route'), { kind: 'refused', elsewhere: true, code: '400', text: 'no route' }],
  [refused(403, 'opted out'), { kind: 'refused', elsewhere: false, code: '403' }],
  [refused(402, 'insufficient credit'), { kind: 'retry', counts: false, code: '402' }],
  [
    { status: 401, body: { status: 401 } },
    { kind: 'retry', counts: false },
  ],
  [
    { status: 400, body: { status: 400, message: 'phoneNumber …' } },
    { kind: 'refused', elsewhere: false },
  ],
  [
    { status: 409, headers: { 'retry-after': '1' }, body: {} },
    { kind: 'retry', counts: true },
  ],
])('response %#: %j', async (got, outcome) => {
  const { carrier } = await carrierFacing(SETTINGS, () => got);
  expect(await carrier.submit(message())).toMatchObject(outcome);
});

const SECRET = makeSecret();
const SIGNED = { ...SETTINGS, baseUrl: 'https://upstream.example.com' };

function deliver(event: object, { secret = SECRET, at = new Date() } = {}) {
  const body = JSON.stringify(event);
  const headers = signedHeaders({ id: 'event-1', timestamp: timestampOf(at), body, secrets: [makeSecret(), secret] });
  return readCallback(SIGNED, { signingKey: SECRET }, { body: event, headers, query: {} });
}

const DELIVERY = {
  eventType: 'DELIVERY',
  messageId: '018f0000-0000-7000-8000-000000000001',
  customerMessageId: 'ours',
  destination: '+351912345678',
  statusCode: 3,
  description: 'Delivered',
  channel: 'SMS',
  timestamp: '2026-11-26T11:00:00.000Z',
};

test('a signed receipt is read, one with another signature, or signed long ago, is not', () => {
  expect(deliver(DELIVERY)).toMatchObject({
    kind: 'events',
    inbounds: [],
    receipts: [
      {
        carrierIds: [DELIVERY.messageId, 'ours'],
        state: 'DELIVERED',
        doneAt: new Date(DELIVERY.timestamp),
        destination: '351912345678',
      },
    ],
  });
  expect(deliver({ ...DELIVERY, statusCode: 6 })).toMatchObject({ receipts: [{ state: 'UNDELIVERABLE' }] });
  expect(deliver(DELIVERY, { secret: makeSecret() })).toEqual(FORGED);
  expect(deliver(DELIVERY, { at: new Date(Date.now() - 600_000) })).toEqual(FORGED);
});

test('an inbound message is read, known by the id of its event', () => {
  const event = {
    eventType: 'INBOUND',
    source: '+351912345678',
    destination: '+351966000000',
    text: 'Olá',
    channel: 'SMS',
    messageType: 'TEXT',
    timestamp: '2026-11-26T11:00:00.000Z',
  };
  expect(deliver(event)).toMatchObject({
    receipts: [],
    inbounds: [{ source: '351912345678', destination: '351966000000', text: 'Olá', rich: { id: 'event-1' } }],
  });
});
