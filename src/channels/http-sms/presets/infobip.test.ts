import { expect, test } from 'vitest';
import {
  carrierFacing,
  FORGED,
  message,
  presetConformance,
  readCallback,
} from '../../../../test/support/carriers/http-sms-harness.ts';

// Responses and callbacks as infobip.com/docs/api/channels/sms shows them (outbound: send-sms-messages,
// receive-outbound-sms-message-report; inbound: receive-inbound-sms-messages).

const SETTINGS = { preset: 'infobip' } as const;
const answer = (messageId: string, status: object) => ({
  status: 200,
  body: {
    bulkId: '1478260834465349756',
    messages: [{ messageId, status, destination: '41793026727', details: { messageCount: 1 } }],
  },
});
const PENDING = {
  groupId: 1,
  groupName: 'PENDING',
  id: 26,
  name: 'PENDING_ACCEPTED',
  description: 'Pending Accepted',
};
const rejected = (name: string) =>
  answer('m', { groupId: 5, groupName: 'REJECTED', id: 12, name, description: 'Not enough credits' });

presetConformance({
  settings: SETTINGS,
  accept: (n) => answer(`2250be2d4219-3af1-78856-aabe-${n}`, PENDING),
  refuse: rejected('REJECTED_DESTINATION'),
  busy: {
    status: 429,
    body: { requestError: { serviceException: { messageId: 'TOO_MANY_REQUESTS', text: 'Too many requests' } } },
  },
  numberIn: ({ body }) => JSON.parse(body.toString()).messages[0].destinations[0].to,
});

test('a message is sent with the key, our id and its validity', async () => {
  const { carrier, sent } = await carrierFacing(SETTINGS, () => answer('m-1', PENDING));
  const one = message({ validUntil: new Date(Date.now() + 3_600_000) });
  expect(await carrier.submit(one)).toEqual({ kind: 'accepted', carrierIds: ['m-1'] });
  const [request] = sent;
  expect(request?.path).toBe('/sms/3/messages');
  expect(request?.headers.authorization).toBe('App the-api-key');
  expect(JSON.parse(String(request?.body))).toEqual({
    messages: [
      {
        sender: 'ACME',
        destinations: [{ to: '351912345678', messageId: one.messageId }],
        content: { text: 'Hi & "bye"' },
        options: { validityPeriod: { amount: 60, timeUnit: 'MINUTES' } },
        webhooks: {
          delivery: { url: expect.stringMatching(/^https:.*token=/) },
          contentType: 'application/json',
          callbackData: one.messageId,
        },
      },
    ],
  });
});

test('a message without a limit has no option of it', async () => {
  const { carrier, sent } = await carrierFacing(SETTINGS, () => answer('m-1', PENDING));
  await carrier.submit(message());
  expect(JSON.parse(String(sent[0]?.body)).messages[0]).not.toHaveProperty('options');
});

test.each([
  [rejected('REJECTED_NOT_ENOUGH_CREDITS'), { kind: 'retry', counts: false, text: 'Not enough credits' }],
  [rejected('REJECTED_SENDER'), { kind: 'refused', elsewhere: true, code: 'REJECTED_SENDER' }],
  [rejected('REJECTED_PREPAID_PACKAGE_EXPIRED'), { kind: 'retry', counts: false }],
  [rejected('REJECTED_DUPLICATE_MESSAGE_ID'), { kind: 'unknown' }],
  [rejected('REJECTED_DND'), { kind: 'refused', status: 'REJECTED', elsewhere: false }],
  [rejected('REJECTED_DESTINATION'), { kind: 'refused', status: 'UNDELIVERABLE', elsewhere: false }],
  [rejected('REJECTED_PREFIX_MISSING'), { kind: 'refused', status: 'UNDELIVERABLE', elsewhere: false }],
  [
    { status: 400, body: { errorCode: 'E400', description: 'Request cannot be processed.', violations: [] } },
    { kind: 'refused', elsewhere: false, code: 'E400', text: 'Request cannot be processed.' },
  ],
  [
    { status: 401, body: { errorCode: 'E401' } },
    { kind: 'retry', counts: false, code: 'E401' },
  ],
])('response %#: %j', async (got, outcome) => {
  const { carrier } = await carrierFacing(SETTINGS, () => got);
  expect(await carrier.submit(message())).toMatchObject(outcome);
});

const CALLED = { ...SETTINGS, baseUrl: 'https://xyz.api.infobip.com' };
const REPORT = {
  results: [
    {
      bulkId: 'BULK-ID-123-xyz',
      messageId: 'MESSAGE-ID-123-xyz',
      to: '41793026727',
      sentAt: '2026-11-09T16:00:00.000+0000',
      doneAt: '2026-11-09T17:00:00.000+0100',
      smsCount: 1,
      callbackData: 'ours',
      status: { groupId: 3, groupName: 'DELIVERED', id: 5, name: 'DELIVERED_TO_HANDSET' },
      error: { groupId: 0, groupName: 'Ok', id: 0, name: 'NO_ERROR', permanent: false },
    },
    {
      messageId: '12db39c3-7822-4e72-a3ec-c87442c0ffc5',
      to: '41793026834',
      from: 'InfoSMS',
      doneAt: '2026-11-09T17:00:00.000+0000',
      status: { groupId: 2, groupName: 'UNDELIVERABLE', id: 9, name: 'UNDELIVERABLE_NOT_DELIVERED' },
      error: { groupId: 1, groupName: 'HANDSET_ERRORS', id: 27, name: 'EC_ABSENT_SUBSCRIBER', permanent: false },
    },
  ],
};

test('all receipts of a report are read, and none without the token', () => {
  expect(readCallback(CALLED, {}, { body: REPORT })).toMatchObject({
    kind: 'events',
    inbounds: [],
    receipts: [
      {
        carrierIds: ['MESSAGE-ID-123-xyz', 'ours'],
        state: 'DELIVERED',
        errorCode: null,
        doneAt: new Date('2026-11-09T16:00:00Z'),
        destination: '41793026727',
      },
      {
        carrierIds: ['12db39c3-7822-4e72-a3ec-c87442c0ffc5'],
        state: 'UNDELIVERABLE',
        errorCode: 'EC_ABSENT_SUBSCRIBER',
      },
    ],
  });
  expect(readCallback(CALLED, {}, { body: REPORT, query: {} })).toEqual(FORGED);
});

test.each([
  ['DELIVERED', 'DELIVERED_TO_OPERATOR', 'ACCEPTED'],
  ['EXPIRED', 'EXPIRED_EXPIRED', 'EXPIRED'],
  ['EXPIRED', 'EXPIRED_DLR_UNKNOWN', 'UNKNOWN'],
  ['REJECTED', 'REJECTED_NETWORK', 'REJECTED'],
  ['PENDING', 'PENDING_ENROUTE', 'ACCEPTED'],
])('%s with the name %s means %s', (groupName, name, state) => {
  const body = { results: [{ messageId: 'a', to: '41793026727', status: { groupName, name } }] };
  expect(readCallback(CALLED, {}, { body })).toMatchObject({ receipts: [{ state }] });
});

test('inbound messages are read with their ids', () => {
  const body = {
    results: [
      {
        messageId: '817790313235066447',
        from: '385916242493',
        to: '385921004026',
        text: 'QUIZ Correct answer is Paris',
        cleanText: 'Correct answer is Paris',
        keyword: 'QUIZ',
        receivedAt: '2026-10-06T09:28:39.220+0000',
        smsCount: 1,
      },
    ],
    messageCount: 1,
    pendingMessageCount: 0,
  };
  expect(readCallback(CALLED, {}, { body })).toMatchObject({
    receipts: [],
    inbounds: [
      {
        source: '385916242493',
        destination: '385921004026',
        text: 'QUIZ Correct answer is Paris',
        rich: { id: '817790313235066447', at: new Date('2026-10-06T09:28:39.220Z') },
      },
    ],
  });
});
