import { generateKeyPairSync, sign } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  carrierFacing,
  FORGED,
  message,
  presetConformance,
  readCallback,
} from '../../../../test/support/carriers/http-sms-harness.ts';

// Responses and callbacks as developers.telnyx.com shows them (api-reference/messages/send-a-message,
// api-reference/callbacks/delivery-update and inbound-message).

const SETTINGS = { preset: 'telnyx' } as const;
const queued = (id: string) => ({
  status: 200,
  body: {
    data: {
      record_type: 'message',
      direction: 'outbound',
      id,
      type: 'SMS',
      from: { phone_number: '+18445550001' },
      to: [{ phone_number: '+18665550001', status: 'queued' }],
      errors: [],
    },
  },
});
const error = (status: number, code: string, title = 'An error') => ({
  status,
  body: { errors: [{ code, title, detail: `${title} in detail.`, meta: {} }] },
});

presetConformance({
  settings: SETTINGS,
  accept: (n) => queued(`40385f64-5717-4562-b3fc-${String(n).padStart(12, '0')}`),
  refuse: error(400, '40310', "Invalid 'to' address"),
  busy: error(429, '10011', 'Too many requests'),
  numberIn: ({ body }) => JSON.parse(body.toString()).to.slice(1),
});

test('a message is sent with the key, and with the profile that names need', async () => {
  const { carrier, sent } = await carrierFacing({ ...SETTINGS, account: 'profile-1' }, () => queued('m-1'));
  expect(await carrier.submit(message())).toEqual({ kind: 'accepted', carrierIds: ['m-1'] });
  expect(sent[0]?.path).toBe('/v2/messages');
  expect(sent[0]?.headers.authorization).toBe('Bearer the-api-key');
  expect(JSON.parse(String(sent[0]?.body))).toEqual({
    from: 'ACME',
    to: '+351912345678',
    text: 'Hi & "bye"',
    messaging_profile_id: 'profile-1',
    webhook_url: expect.stringMatching(/^https:/),
    use_profile_webhooks: false,
  });
});

test.each([
  [error(400, '40310'), { kind: 'refused', status: 'UNDELIVERABLE', text: 'An error in detail.' }],
  [error(400, '40300'), { kind: 'refused', elsewhere: false }],
  [error(400, '40305'), { kind: 'refused', elsewhere: true }],
  [error(403, '20100'), { kind: 'retry', counts: false }],
  [error(429, '40333'), { kind: 'retry', counts: false, code: '40333' }],
  [error(401, '10009'), { kind: 'retry', counts: false }],
  [error(500, '10007'), { kind: 'unknown' }],
])('response %#: %j', async (got, outcome) => {
  const { carrier } = await carrierFacing(SETTINGS, () => got);
  expect(await carrier.submit(message())).toMatchObject(outcome);
});

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const signingKey = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');

function deliver(body: object, { ageSeconds = 0, key = privateKey } = {}) {
  const at = String(Math.floor(Date.now() / 1000) - ageSeconds);
  const signature = sign(null, Buffer.from(`${at}|${JSON.stringify(body)}`), key).toString('base64');
  const headers = { 'telnyx-signature-ed25519': signature, 'telnyx-timestamp': at };
  return readCallback(SETTINGS, { signingKey }, { body, headers, query: {} });
}

const UPDATE = {
  data: {
    event_type: 'message.finalized',
    id: '4ee8c3a6-4995-4309-a3c6-38e3db9ea4be',
    occurred_at: '2026-11-26T11:00:00.148+00:00',
    payload: {
      id: '834f3d53-8a3c-4aa0-a733-7f2d682a72df',
      direction: 'outbound',
      from: { phone_number: '+13125550001' },
      to: [{ phone_number: '+13125550002', status: 'delivered' }],
      errors: [],
      text: 'Hello there!',
    },
  },
};

test('a receipt signed with the key of the account is read, another or an old one is not', () => {
  expect(deliver(UPDATE)).toMatchObject({
    kind: 'events',
    inbounds: [],
    receipts: [
      {
        carrierIds: ['834f3d53-8a3c-4aa0-a733-7f2d682a72df'],
        state: 'DELIVERED',
        destination: '13125550002',
        doneAt: new Date('2026-11-26T11:00:00.148Z'),
      },
    ],
  });
  expect(deliver(UPDATE, { key: generateKeyPairSync('ed25519').privateKey })).toEqual(FORGED);
  expect(deliver(UPDATE, { ageSeconds: 400 })).toEqual(FORGED);
});

test('an inbound message is read with its id', () => {
  const payload = {
    id: '7ee4241c-f127-47e5-9c34-3aac291f8058',
    direction: 'inbound',
    type: 'SMS',
    from: { phone_number: '+18665550001' },
    to: [{ phone_number: '+18445550001', status: 'delivered' }],
    text: 'Hello, World!',
  };
  const body = { data: { event_type: 'message.received', occurred_at: '2026-11-26T11:00:00.000Z', payload } };
  expect(deliver(body)).toMatchObject({
    receipts: [],
    inbounds: [{ source: '18665550001', destination: '18445550001', text: 'Hello, World!', rich: { id: payload.id } }],
  });
});
