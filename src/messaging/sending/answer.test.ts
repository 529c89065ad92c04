import { describe, expect, test } from 'vitest';
import { answerBulk, answerMessageServer, answerSend, toResult } from './answer.ts';
import { type Refusal, REFUSALS, type Verdict } from './draft.ts';

const ACCEPTED: Verdict = { kind: 'accepted', messageId: 'm', parts: 2, unicode: true };
const CONFLICT: Verdict = { kind: 'conflict' };
const refused = (refusal: Refusal): Verdict => ({ kind: 'refused', refusal });
/** Refusals that a well-formed request can get: 200 with reasons. */
const ANSWERED: Refusal[] = ['bad_destination', 'no_route'];
const MALFORMED: Refusal[] = ['bad_sender', 'empty_body', 'bad_body', 'body_too_long', 'binary_too_long'];

describe('the answer to the specification’s body', () => {
  const body = { phoneNumber: '+351912345678', message: 'Hello', customerMessageId: 'c' };

  test('names our id, the client’s and the number', () => {
    expect(answerSend(body, ACCEPTED)).toEqual({
      messageId: 'm',
      customerMessageId: 'c',
      simulation: false,
      results: [{ phoneNumber: '+351912345678', accepted: true, channel: 'SMS', statusCode: 200, reasons: [] }],
    });
  });

  test.each(ANSWERED)('%s is answered with its reason and no id', (refusal) => {
    expect(answerSend(body, refused(refusal))).toMatchObject({
      messageId: null,
      results: [{ accepted: false, statusCode: 400, reasons: [REFUSALS[refusal]] }],
    });
  });

  test.each(MALFORMED)('%s is a fault of the request, with the field', (refusal) => {
    const field = refusal === 'bad_sender' ? 'senderName' : 'message';
    expect(() => answerSend(body, refused(refusal))).toThrow(
      expect.objectContaining({ status: 400, details: [{ field, message: REFUSALS[refusal] }] }),
    );
  });

  test('an id that was used for other content is a conflict', () => {
    expect(() => answerSend(body, CONFLICT)).toThrow(expect.objectContaining({ status: 409 }));
  });
});

describe('the answer to the message server’s body', () => {
  const body = { destination: '+351912345678', sender: 'ACME', body: 'Hello', simulation: true };

  test('names parts and alphabet', () => {
    expect(answerMessageServer(body, ACCEPTED)).toEqual({
      messageId: 'm',
      simulation: true,
      results: { sms: { accepted: true, unicode: true, parts: 2, reasons: [] } },
    });
  });

  test('a refused message has neither', () => {
    expect(answerMessageServer(body, refused('no_route'))).toMatchObject({
      messageId: null,
      results: { sms: { accepted: false, unicode: false, parts: 0, reasons: [REFUSALS.no_route] } },
    });
  });

  test.each(MALFORMED)('%s is a fault of the request, with a field of this body', (refusal) => {
    const field = { bad_sender: 'sender', binary_too_long: 'udhData' }[refusal as string] ?? 'body';
    expect(() => answerMessageServer(body, refused(refusal))).toThrow(
      expect.objectContaining({ status: 400, details: [{ field, message: REFUSALS[refusal] }] }),
    );
  });
});

test('the bulk answer has one result for each destination, in order, and counts the accepted ones', () => {
  const bulk = {
    globalId: 'g',
    messages: [
      { destinations: ['1', '2'], sender: 'ACME', body: 'Hello' },
      { destinations: ['3'], sender: 'ACME', body: 'Hi' },
    ],
  };
  expect(answerBulk(bulk, [ACCEPTED, refused('bad_sender'), CONFLICT].map(toResult))).toEqual({
    globalId: 'g',
    accepted: 1,
    results: [
      { destination: '1', id: 'm', accepted: true, statusCode: 200 },
      { destination: '2', id: null, accepted: false, statusCode: 400 },
      { destination: '3', id: null, accepted: false, statusCode: 409 },
    ],
  });
});
