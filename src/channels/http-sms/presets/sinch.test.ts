import { expect, test } from 'vitest';
import {
  carrierFacing,
  FORGED,
  message,
  presetConformance,
  readCallback,
} from '../../../../test/support/carriers/http-sms-harness.ts';

// Responses and callbacks as developers.sinch.com/docs/sms/api-reference and Sinch's own SDKs have them.

const SETTINGS = { preset: 'sinch', account: 'jd63jf88477ll123ab4567cd89012ef3' } as const;
const created = (id: string) => ({
  status: 201,
  body: {
    id,
    to: ['351912345678'],
    from: 'ACME',
    canceled: false,
    body: 'Hi',
    type: 'mt_text',
    created_at: '2026-11-26T11:00:00.000Z',
    modified_at: '2026-11-26T11:00:00.000Z',
    delivery_report: 'per_recipient',
  },
});
const error = (status: number, code: string, text: string) => ({ status, body: { code, text } });

presetConformance({
  settings: SETTINGS,
  accept: (n) => created(`01FC66621XXXXX119Z8PMV${n}`),
  refuse: error(400, 'syntax_constraint_violation', 'Invalid request'),
  busy: { status: 429, body: '' },
  numberIn: ({ body }) => JSON.parse(body.toString()).to[0],
});

test('a message is sent as a batch of one, with the token and until when it is valid', async () => {
  const { carrier, sent } = await carrierFacing(SETTINGS, () => created('01FC'));
  const validUntil = new Date(Date.now() + 3_600_000);
  const one = message({ validUntil });
  expect(await carrier.submit(one)).toEqual({ kind: 'accepted', carrierIds: ['01FC'] });
  expect(sent[0]?.path).toBe(`/xms/v1/${SETTINGS.account}/batches`);
  expect(sent[0]?.headers.authorization).toBe('Bearer the-api-key');
  expect(JSON.parse(String(sent[0]?.body))).toEqual({
    type: 'mt_text',
    from: 'ACME',
    to: ['351912345678'],
    body: 'Hi & "bye"',
    delivery_report: 'per_recipient',
    callback_url: expect.stringMatching(/^https:.*token=/),
    client_reference: one.messageId,
    expire_at: validUntil.toISOString(),
  });
});

test.each([
  [error(400, 'syntax_invalid_parameter_format', 'The format of to is invalid'), { status: 'UNDELIVERABLE' }],
  [error(403, 'missing_callback_url', 'No callback URL is registered'), { kind: 'refused', elsewhere: true }],
  [error(401, 'unauthorized', 'No access'), { kind: 'retry', counts: false, code: 'unauthorized' }],
  [{ status: 503, body: '' }, { kind: 'unknown' }],
])('response %#: %j', async (got, outcome) => {
  const { carrier } = await carrierFacing(SETTINGS, () => got);
  expect(await carrier.submit(message())).toMatchObject(outcome);
});

const REPORT = {
  type: 'recipient_delivery_report_sms',
  batch_id: '01FC66621XXXXX119Z8PMV1QPQ',
  recipient: '351912345678',
  code: 401,
  status: 'Failed',
  at: '2026-11-26T11:00:00.318Z',
  client_reference: 'ours',
  operator_status_at: '2026-11-26T11:00:00Z',
};

test('a receipt is read in both spellings of its state, and refused without the token', () => {
  const receipt = { carrierIds: [REPORT.batch_id, 'ours'], state: 'UNDELIVERABLE', errorCode: '401' };
  expect(readCallback(SETTINGS, {}, { body: REPORT })).toMatchObject({
    kind: 'events',
    inbounds: [],
    receipts: [{ ...receipt, doneAt: new Date(REPORT.at), destination: '351912345678' }],
  });
  const delivered = { ...REPORT, status: 'DELIVERED', code: 0 };
  expect(readCallback(SETTINGS, {}, { body: delivered })).toMatchObject({ receipts: [{ state: 'DELIVERED' }] });
  expect(readCallback(SETTINGS, {}, { body: REPORT, query: { token: '' } })).toEqual(FORGED);
});

test('an inbound message is read with its id', () => {
  const body = {
    type: 'mo_text',
    id: '01XXXXX21XXXXX119Z8P1XXXXX',
    from: '351912345678',
    to: '4400',
    body: 'Ciao',
    operator_id: '35000',
    received_at: '2026-11-26T11:00:00.000Z',
  };
  expect(readCallback(SETTINGS, {}, { body })).toMatchObject({
    receipts: [],
    inbounds: [{ source: '351912345678', destination: '4400', text: 'Ciao', rich: { id: body.id } }],
  });
});
