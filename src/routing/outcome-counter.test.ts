import { expect, test } from 'vitest';
import { accepted, createScriptedCarrier, retry } from '../../test/support/carriers/scripted-carrier.ts';
import { createOutcomeCounter, counting } from './connection-store.ts';

const at = new Date('2026-03-01T12:00:00Z');
const refused = (text: string) =>
  ({ kind: 'refused', status: 'REJECTED', code: 'ESME_RINVDSTADR', text, carrierIds: [] }) as const;

test('outcomes are counted by kind, and accepted messages are counted once', () => {
  const outcomes = createOutcomeCounter(() => at);
  for (const outcome of [
    accepted('1'),
    accepted('2'),
    refused('no'),
    retry(10),
    { kind: 'unknown', text: 'cut', carrierIds: [] },
  ] as const)
    outcomes.record(outcome);
  expect(outcomes.take()).toMatchObject({
    accepted: 2,
    refused: 1,
    retried: 1,
    unknown: 1,
    lastError: 'cut',
    lastErrorAt: at,
  });
  expect(outcomes.take()).toMatchObject({
    accepted: 0,
    refused: 0,
    retried: 0,
    unknown: 0,
    perSecond: 0,
    lastError: 'cut',
  });
});

test('a link without room does not count as a response, and numbers in responses are masked', () => {
  const outcomes = createOutcomeCounter(() => at);
  outcomes.record(retry(0, false, 'NOT_SENT'));
  expect(outcomes.take()).toMatchObject({ retried: 0, lastError: null, lastErrorAt: null });
  outcomes.record(refused('+393331234567 is barred'));
  expect(outcomes.take().lastError).toBe('ESME_RINVDSTADR +39333*****67 is barred');
});

test('a carrier whose outcomes are counted works as before', async () => {
  const outcomes = createOutcomeCounter(() => at);
  const carrier = createScriptedCarrier();
  const counted = counting(carrier, outcomes);
  expect(counted.room()).toBe(carrier.room());
  const submission = {
    messageId: 'm',
    destination: '+39333',
    sender: 'A',
    body: '',
    validUntil: null,
    wantReceipt: true,
  };
  expect(await counted.submit(submission)).toEqual(accepted('m'));
  expect(outcomes.take().accepted).toBe(1);
});
