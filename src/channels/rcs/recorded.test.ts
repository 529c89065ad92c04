import { expect, test } from 'vitest';
import { ANSWERS, EVENTS, HANDSHAKE } from '../../../test/support/carriers/recorded-rcs.ts';
import { readRcsCallback, signatureOf } from './callbacks.ts';
import { verdictOf } from './client.ts';

const { clientToken } = HANDSHAKE;

test.each(ANSWERS)('the response "$title" ($source) is understood', ({ status, error, verdict }) => {
  const body = Buffer.from(JSON.stringify({ error }));
  expect(verdictOf({ kind: 'answered', status, headers: {}, body })).toMatchObject(verdict);
});

test(`the verification of a webhook (${HANDSHAKE.source}) gets the secret`, () => {
  const rawBody = Buffer.from(JSON.stringify(HANDSHAKE.body));
  const answer = readRcsCallback({ rawBody, signature: undefined, clientToken });
  expect(answer).toEqual({ kind: 'handshake', text: HANDSHAKE.answer });
});

test.each(EVENTS)('an event ($source) is understood', ({ event, read }) => {
  const data = Buffer.from(JSON.stringify(event));
  const rawBody = Buffer.from(JSON.stringify({ message: { data: data.toString('base64'), messageId: '1' } }));
  const found = readRcsCallback({ rawBody, signature: signatureOf(data, clientToken), clientToken });
  expect(found).toMatchObject({ kind: 'events', other: [], ...read });
});
