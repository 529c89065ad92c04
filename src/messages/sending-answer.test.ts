import { describe, expect, test } from 'vitest';
import { REFUSALS, type Refusal, type Verdict } from './read-send.ts';
import { answerBulk, answerMessageServer, answerRich, answerSend, toResult } from './send-response.ts';

const ACCEPTED: Verdict = { kind: 'accepted', messageId: 'm', parts: 2, unicode: true };
const CONFLICT: Verdict = { kind: 'conflict' };
const READER = { operations: new Set(['SMS', 'money'] as const) };
const BLIND = { operations: new Set(['SMS'] as const) };
const refused = (refusal: Refusal): Verdict => ({ kind: 'refused', refusal });
/** Rejections that a well-formed request can get: 200 with reasons. */
const ANSWERED: Refusal[] = ['unknown_country_code', 'impossible_length', 'no_route'];
const MALFORMED: Refusal[] = [
  'not_a_number',
  'no_country_code',
  'bad_sender',
  'empty_body',
  'bad_body',
  'body_too_long',
  'binary_too_long',
];

describe('the response to the specification’s body', () => {
  const body = { phoneNumber: '+351912345678', message: 'Hello', customerMessageId: 'c' };

  test('names our id, the client’s and the number', () => {
    expect(answerSend(READER, body, ACCEPTED)).toEqual({
      messageId: 'm',
      customerMessageId: 'c',
      simulation: false,
      results: [{ phoneNumber: '+351912345678', accepted: true, channel: 'SMS', statusCode: 200, reasons: [] }],
    });
  });

  test.each(ANSWERED)('%s gets its reason and no id', (refusal) => {
    expect(answerSend(READER, body, refused(refusal))).toMatchObject({
      messageId: null,
      results: [{ accepted: false, statusCode: 400, reasons: [REFUSALS[refusal]] }],
    });
  });

  test.each(['sender_not_allowed', 'no_registered_route'] as const)(
    '%s is a rejection of a well-formed request',
    (refusal) => {
      expect(answerSend(READER, body, refused(refusal)).results).toMatchObject([
        { accepted: false, statusCode: 401, reasons: [REFUSALS[refusal]] },
      ]);
    },
  );

  test.each(MALFORMED)('%s is a fault of the request, with the field', (refusal) => {
    const fields = { bad_sender: 'senderName', not_a_number: 'phoneNumber', no_country_code: 'phoneNumber' };
    const field = Object.entries(fields).find(([of]) => of === refusal)?.[1] ?? 'message';
    expect(() => answerSend(READER, body, refused(refusal))).toThrow(
      expect.objectContaining({ status: 400, details: [{ field, message: REFUSALS[refusal] }] }),
    );
  });

  test('an id that was used for other content is a conflict', () => {
    expect(() => answerSend(READER, body, CONFLICT)).toThrow(expect.objectContaining({ status: 409 }));
  });
});

describe('the response to the message server’s body', () => {
  const body = { destination: '+351912345678', sender: 'ACME', body: 'Hello', simulation: true };

  test('names parts and alphabet', () => {
    expect(answerMessageServer(READER, body, ACCEPTED)).toEqual({
      messageId: 'm',
      customerMessageId: null,
      simulation: true,
      results: { sms: { accepted: true, unicode: true, parts: 2, reasons: [] } },
    });
  });

  test('a refused message has neither', () => {
    expect(answerMessageServer(READER, body, refused('no_route'))).toMatchObject({
      messageId: null,
      results: { sms: { accepted: false, unicode: false, parts: 0, reasons: [REFUSALS.no_route] } },
    });
  });

  test.each(MALFORMED)('%s is a fault of the request, with a field of this body', (refusal) => {
    const numbers = { not_a_number: 'destination', no_country_code: 'destination' };
    const field = { bad_sender: 'sender', binary_too_long: 'udhData', ...numbers }[refusal as string] ?? 'body';
    expect(() => answerMessageServer(READER, body, refused(refusal))).toThrow(
      expect.objectContaining({ status: 400, details: [{ field, message: REFUSALS[refusal] }] }),
    );
  });
});

test('the bulk response has one result for each destination, in order, and counts the accepted ones', () => {
  const bulk = {
    globalId: 'g',
    messages: [
      { destinations: ['1', '2'], sender: 'ACME', body: 'Hello' },
      { destinations: ['3'], sender: 'ACME', body: 'Hi', customerMessageId: 'c3' },
    ],
  };
  expect(answerBulk(READER, bulk, [ACCEPTED, refused('bad_sender'), CONFLICT].map(toResult))).toEqual({
    globalId: 'g',
    accepted: 1,
    results: [
      { destination: '1', id: 'm', accepted: true, statusCode: 200 },
      { destination: '2', id: null, accepted: false, statusCode: 400, reason: REFUSALS.bad_sender },
      {
        destination: '3',
        customerMessageId: 'c3',
        id: null,
        accepted: false,
        statusCode: 409,
        reason: expect.stringContaining('24 hours'),
      },
    ],
  });
});

describe('a message that the credit does not cover', () => {
  const shortage = { priceMicros: 35_000, availableMicros: 20_500, currency: 'EUR' };
  const verdict: Verdict = { kind: 'refused', refusal: 'no_credit', shortage };
  const [full, short] = [
    'insufficient credit: the message costs 0.035 EUR, and 0.0205 is available',
    'insufficient credit',
  ];
  const send = { phoneNumber: '+351912345678', message: 'Hello' };
  const long = { destination: '+351912345678', sender: 'ACME', body: 'Hello' };
  const bulk = { messages: [{ destinations: ['+351912345678'], sender: 'ACME', body: 'Hello' }] };

  test.each([
    ['names its price and what is available', READER, full],
    ['names no amounts to callers without the scope money', BLIND, short],
  ])('%s', (_, reader, reason) => {
    expect(answerSend(reader, send, verdict).results).toMatchObject([{ statusCode: 402, reasons: [reason] }]);
    expect(answerMessageServer(reader, long, verdict).results.sms.reasons).toEqual([reason]);
    expect(answerRich(reader, {}, verdict).result.reasons).toEqual([reason]);
    expect(answerBulk(reader, bulk, [toResult(verdict)]).results).toMatchObject([{ statusCode: 402, reason }]);
  });
});
