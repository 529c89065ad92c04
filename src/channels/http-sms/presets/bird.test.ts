import { createHash, createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  carrierFacing,
  FORGED,
  message,
  presetConformance,
  readCallback,
} from '../../../../test/support/carriers/http-sms-harness.ts';

// Responses and the signature as docs.bird.com shows them (channels-api/api-reference,
// verifying-a-webhook-subscription); the members of an event as public code reads them.

const SETTINGS = { preset: 'bird' } as const;
const accepted = (id: string) => ({
  status: 202,
  body: {
    id,
    channelId: 'channel-1',
    receiver: { contacts: [{ identifierKey: 'phonenumber', identifierValue: '+351912345678' }] },
    body: { type: 'text', text: { text: 'Hi' } },
    status: 'accepted',
    direction: 'outgoing',
  },
});
const error = (status: number, code: string) => ({ status, body: { code, message: 'An error' } });

presetConformance({
  settings: SETTINGS,
  accept: (n) => accepted(`6f1bb4c6-6e8e-4f5a-9a3b-${String(n).padStart(12, '0')}`),
  refuse: error(422, 'InvalidPayload'),
  busy: error(429, 'TooManyRequests'),
  numberIn: ({ body }) => JSON.parse(body.toString()).receiver.contacts[0].identifierValue.slice(1),
});

test('a message is sent with the key and our id', async () => {
  const { carrier, sent } = await carrierFacing(SETTINGS, () => accepted('m-1'));
  const one = message();
  expect(await carrier.submit(one)).toEqual({ kind: 'accepted', carrierIds: ['m-1'] });
  expect(sent[0]?.path).toBe('/messages');
  expect(sent[0]?.headers.authorization).toBe('AccessKey the-api-key');
  expect(JSON.parse(String(sent[0]?.body))).toEqual({
    receiver: { contacts: [{ identifierKey: 'phonenumber', identifierValue: '+351912345678' }] },
    body: { type: 'text', text: { text: 'Hi & "bye"' } },
    reference: one.messageId,
  });
});

test.each([
  [error(422, 'InvalidPayload'), { kind: 'refused', elsewhere: false, code: 'InvalidPayload' }],
  [error(402, 'InsufficientBalance'), { kind: 'retry', counts: false }],
  [error(401, 'Unauthorized'), { kind: 'retry', counts: false }],
  [error(502, 'BadGateway'), { kind: 'unknown' }],
])('response %#: %j', async (got, outcome) => {
  const { carrier } = await carrierFacing(SETTINGS, () => got);
  expect(await carrier.submit(message())).toMatchObject(outcome);
});

const URL = 'https://sms.example.com/api/callbacks/http/acme';

function deliver(body: object, key = 'signing-key') {
  const at = String(Math.floor(Date.now() / 1000));
  const octets = JSON.stringify(body);
  const hash = createHash('sha256').update(octets).digest();
  const signed = Buffer.concat([Buffer.from(`${at}\n${URL}\n`), hash]);
  const signature = createHmac('sha256', key).update(signed).digest('base64');
  const headers = { 'messagebird-signature': signature, 'messagebird-request-timestamp': at };
  const settings = { ...SETTINGS, baseUrl: 'https://api.bird.com/workspaces/w/channels/c' };
  return readCallback(settings, { signingKey: 'signing-key' }, { body, url: URL, query: {}, headers });
}

const STATUS = {
  service: 'channels',
  event: 'sms.outbound',
  payload: {
    id: 'm-1',
    channelId: 'channel-1',
    receiver: { contacts: [{ identifierKey: 'phonenumber', identifierValue: '+351912345678' }] },
    reference: 'ours',
    status: 'delivery_failed',
    reason: 'absent subscriber é',
    lastStatusAt: '2026-11-26T11:00:00.27Z',
  },
};

test('a signed receipt is read, one that another key has signed is not', () => {
  expect(deliver(STATUS)).toMatchObject({
    kind: 'events',
    inbounds: [],
    receipts: [
      {
        carrierIds: ['m-1', 'ours'],
        state: 'UNDELIVERABLE',
        errorCode: 'absent subscriber é',
        doneAt: new Date('2026-11-26T11:00:00.270Z'),
        destination: '351912345678',
      },
    ],
  });
  expect(deliver(STATUS, 'another-key')).toEqual(FORGED);
});

test('an inbound message is read with its id', () => {
  const payload = {
    id: 'in-1',
    sender: { contact: { identifierKey: 'phonenumber', identifierValue: '+351912345678' } },
    receiver: { connector: { id: 'c', identifierValue: '+351966000000' } },
    body: { type: 'text', text: { text: 'Olá' } },
    status: 'delivered',
    direction: 'incoming',
    createdAt: '2026-11-26T11:00:00.154Z',
  };
  expect(deliver({ service: 'channels', event: 'sms.inbound', payload })).toMatchObject({
    receipts: [],
    inbounds: [{ source: '351912345678', destination: '351966000000', text: 'Olá', rich: { id: 'in-1' } }],
  });
});
