import { expect, test } from 'vitest';
import {
  carrierFacing,
  FORGED,
  message,
  presetConformance,
  readCallback,
} from '../../../../test/support/carriers/http-sms-harness.ts';
import { signForAws } from '../request.ts';

// Responses and events as docs.aws.amazon.com has them (apireference_smsvoicev2,
// userguide/configuration-sets-event-format).

const SETTINGS = { preset: 'aws', account: 'AKIDEXAMPLE' } as const;
const sentAs = (MessageId: string) => ({ status: 200, body: { MessageId } });
const error = (type: string, Reason?: string) => ({ status: 400, body: { __type: type, Message: 'An error', Reason } });

presetConformance({
  settings: SETTINGS,
  accept: (n) => sentAs(`c2a4d4b0-0000-4000-8000-${String(n).padStart(12, '0')}`),
  refuse: error('ValidationException', 'INVALID_PARAMETER'),
  busy: error('com.amazonaws.pinpointsmsvoicev2#ThrottlingException'),
  numberIn: ({ body }) => JSON.parse(body.toString()).DestinationPhoneNumber.slice(1),
});

test('a signature is that of the published example get-vanilla', () => {
  const request = { method: 'GET', origin: 'https://example.amazonaws.com', path: '/', headers: {} } as const;
  const key = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
  const scope = { service: 'service', region: 'us-east-1' };
  expect(signForAws(request, key, Date.UTC(2015, 7, 30, 12, 36), scope).headers).toMatchObject({
    'x-amz-date': '20150830T123600Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, ' +
      'Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  });
});

test('service and region are those of the host', () => {
  const request = {
    method: 'POST',
    origin: 'https://sms-voice.eu-west-1.amazonaws.com',
    path: '/',
    headers: {},
  } as const;
  const { authorization } = signForAws(request, { id: 'A', secret: 'S' }, 0).headers;
  expect(authorization).toContain('Credential=A/19700101/eu-west-1/sms-voice/aws4_request');
});

test('a message is sent, signed for its service', async () => {
  const { carrier, sent } = await carrierFacing(SETTINGS, () => sentAs('m-1'));
  const one = message({ validUntil: new Date(Date.now() + 30 * 86_400_000) });
  expect(await carrier.submit(one)).toEqual({ kind: 'accepted', carrierIds: ['m-1'] });
  expect(sent[0]?.headers).toMatchObject({
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': 'PinpointSMSVoiceV2.SendTextMessage',
    authorization: expect.stringMatching(
      /Credential=AKIDEXAMPLE\/\d{8}\/us-east-1\/sms-voice\/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target,/,
    ),
  });
  expect(JSON.parse(String(sent[0]?.body))).toEqual({
    DestinationPhoneNumber: '+351912345678',
    OriginationIdentity: 'ACME',
    MessageBody: 'Hi & "bye"',
    TimeToLive: 259_200,
    Context: { reference: one.messageId },
  });
});

test.each([
  [error('ConflictException', 'DESTINATION_PHONE_NUMBER_OPTED_OUT'), { kind: 'refused', elsewhere: false }],
  [error('ResourceNotFoundException'), { kind: 'refused', elsewhere: true }],
  [error('AccessDeniedException'), { kind: 'retry', counts: false, text: 'An error' }],
  [{ status: 500, body: { __type: 'InternalServerException' } }, { kind: 'unknown' }],
])('response %#: %j', async (got, outcome) => {
  const { carrier } = await carrierFacing(SETTINGS, () => got);
  expect(await carrier.submit(message())).toMatchObject(outcome);
});

const CALLED = { ...SETTINGS, baseUrl: 'https://sms-voice.eu-west-1.amazonaws.com' };
const EVENT = {
  eventType: 'TEXT_CARRIER_UNREACHABLE',
  eventVersion: '1.0',
  eventTimestamp: 1_790_000_000_000,
  isFinal: true,
  originationPhoneNumber: '+12065550152',
  destinationPhoneNumber: '+351912345678',
  messageId: 'm-1',
  messageStatus: 'CARRIER_UNREACHABLE',
  context: { reference: 'ours' },
};

test('a receipt is read, and refused without the token', () => {
  expect(readCallback(CALLED, {}, { body: EVENT })).toMatchObject({
    kind: 'events',
    inbounds: [],
    receipts: [
      {
        carrierIds: ['m-1', 'ours'],
        state: 'UNDELIVERABLE',
        doneAt: new Date(1_790_000_000_000),
        destination: '351912345678',
      },
    ],
  });
  expect(readCallback(CALLED, {}, { body: EVENT, query: {} })).toEqual(FORGED);
});

test('an inbound message is read with its id', () => {
  const body = {
    originationNumber: '+351912345678',
    destinationNumber: '+12065550152',
    messageKeyword: 'keyword_1',
    messageBody: 'Olá',
    inboundMessageId: 'cae173d2-66b9-564c-8309-21f858e9fb84',
    previousPublishedMessageId: 'm-1',
  };
  expect(readCallback(CALLED, {}, { body })).toMatchObject({
    receipts: [],
    inbounds: [
      { source: '351912345678', destination: '12065550152', text: 'Olá', rich: { id: body.inboundMessageId } },
    ],
  });
});

test('the URL that confirms a subscription is noted for the operator', () => {
  const SubscribeURL = 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37';
  expect(readCallback(CALLED, {}, { body: { Type: 'SubscriptionConfirmation', SubscribeURL } })).toMatchObject({
    receipts: [],
    notes: [expect.stringContaining(SubscribeURL)],
  });
});
