import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  carrierFacing,
  FORGED,
  message,
  presetConformance,
  readCallback,
} from '../../../../test/support/carriers/http-sms-harness.ts';

// Responses and callbacks as plivo.com/docs/messaging shows them; the signature as Plivo's SDKs compute it (V3).

const SETTINGS = { preset: 'plivo', account: 'MAXXXXXXXXXXXXXXXXXX' } as const;
const queued = (id: string) => ({
  status: 202,
  body: { message: 'message(s) queued', message_uuid: [id], api_id: 'db342550-7c9d-11e1-8ea7-12313f095f3f' },
});
const error = (status: number, text: string) => ({ status, body: { api_id: 'a', error: text } });

presetConformance({
  settings: SETTINGS,
  accept: (n) => queued(`db3ce55a-7f1d-11e1-8ea7-${n}`),
  refuse: error(400, "invalid 'dst'"),
  busy: error(429, 'too many requests'),
  numberIn: ({ body }) => JSON.parse(body.toString()).dst,
});

test('a message is sent with the account and its token', async () => {
  const { carrier, sent } = await carrierFacing(SETTINGS, () => queued('m-1'));
  expect(await carrier.submit(message())).toEqual({ kind: 'accepted', carrierIds: ['m-1'] });
  expect(sent[0]?.path).toBe(`/v1/Account/${SETTINGS.account}/Message/`);
  const authorization = Buffer.from(`${SETTINGS.account}:the-api-key`).toString('base64');
  expect(sent[0]?.headers.authorization).toBe(`Basic ${authorization}`);
  expect(JSON.parse(String(sent[0]?.body))).toEqual({
    src: 'ACME',
    dst: '351912345678',
    text: 'Hi & "bye"',
    url: expect.stringMatching(/^https:/),
    method: 'POST',
  });
});

test.each([
  [error(400, "invalid 'dst'"), { kind: 'refused', elsewhere: false, text: "invalid 'dst'" }],
  [error(402, 'insufficient credit'), { kind: 'retry', counts: false }],
  [
    { status: 401, body: 'Could not verify your access level for that URL.' },
    { kind: 'retry', counts: false },
  ],
  [{ status: 500, body: '' }, { kind: 'unknown' }],
])('response %#: %j', async (got, outcome) => {
  const { carrier } = await carrierFacing(SETTINGS, () => got);
  expect(await carrier.submit(message())).toMatchObject(outcome);
});

const URL = 'https://sms.example.com/api/callbacks/http/acme';
const NONCE = '12345';

function deliver(form: string, key = 'the-api-key', header = 'x-plivo-signature-v3') {
  const pairs = [...new URLSearchParams(form)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const signed = `${URL}?${pairs.flat().join('')}.${NONCE}`;
  const signature = createHmac('sha256', key).update(signed).digest('base64');
  const headers = { [header]: `b3RoZXI=,${signature}`, 'x-plivo-signature-v3-nonce': NONCE };
  return readCallback(SETTINGS, {}, { body: form, url: URL, query: {}, headers });
}

const STATUS =
  'From=14155550001&To=351912345678&Status=undelivered&MessageUUID=part-2&ParentMessageUUID=db3ce55a&PartInfo=2+of+2' +
  '&ErrorCode=300&TotalAmount=0.005&Units=2';

test('a receipt of any part names the message, and one that another key has signed is not read', () => {
  const read = {
    kind: 'events',
    inbounds: [],
    receipts: [{ carrierIds: ['db3ce55a'], state: 'UNDELIVERABLE', errorCode: '300', destination: '351912345678' }],
  };
  expect(deliver(STATUS)).toMatchObject(read);
  expect(deliver(STATUS, 'the-api-key', 'x-plivo-signature-ma-v3')).toMatchObject(read);
  expect(deliver(STATUS, 'another-key')).toEqual(FORGED);
});

test('an inbound message is read with its id', () => {
  const form = 'From=351912345678&To=14155550001&Type=sms&Text=Ol%C3%A1&MessageUUID=in-1&Units=1&TotalRate=0';
  expect(deliver(form)).toMatchObject({
    receipts: [],
    inbounds: [{ source: '351912345678', destination: '14155550001', text: 'Olá', rich: { id: 'in-1' } }],
  });
});
