import { expect, test } from 'vitest';
import { retry } from '../../test/support/carriers/scripted-carrier.ts';
import type { Outcome } from '../channels/carrier.ts';
import type { HeldChunk } from './held.ts';
import { verdictOf } from './pump.ts';

const chunk = (more: Partial<HeldChunk> = {}): HeldChunk => ({
  id: 1,
  accountId: 1,
  priority: 1,
  round: 0,
  attempt: 0,
  tries: 0,
  alternates: [2, 3],
  onUnknown: 'hold',
  campaignId: null,
  jobs: [],
  written: 0,
  settled: 0,
  lost: false,
  parked: false,
  ...more,
});
const refused = (elsewhere: boolean): Outcome => ({
  kind: 'refused',
  status: 'REJECTED',
  elsewhere,
  code: 'ESME_RSUBMITFAIL',
  text: 'submit failed',
  carrierIds: [],
});
const LAST = chunk({ alternates: [] });

test('after a refusal that blames the carrier, the message moves at once, with the carrier’s text', () => {
  expect(verdictOf(refused(true), chunk())).toEqual({
    outcome: { kind: 'retry', afterMs: 0, counts: true, code: 'ESME_RSUBMITFAIL', text: 'submit failed' },
    elsewhere: true,
  });
});

test('a refusal is final when it blames the message, or when there is no other connection', () => {
  expect(verdictOf(refused(false), chunk())).toEqual({ outcome: refused(false), elsewhere: false });
  expect(verdictOf(refused(true), LAST)).toEqual({ outcome: refused(true), elsewhere: false });
});

test('after the second "later" for a message it moves to another connection, without the delay', () => {
  const later = retry(5000, true);
  expect(verdictOf(later, chunk())).toEqual({ outcome: later, elsewhere: false });
  expect(verdictOf(later, chunk({ tries: 1 }))).toEqual({ outcome: retry(0, true), elsewhere: true });
  expect(verdictOf(later, { ...LAST, tries: 1 })).toEqual({ outcome: later, elsewhere: false });
});

test('"later" because of the link never moves a message, and is never final', () => {
  const throttled = retry(1000);
  expect(verdictOf(throttled, chunk({ tries: 9, attempt: 99 }))).toEqual({ outcome: throttled, elsewhere: false });
});

test('the sixtieth "later" of the last connection is a refusal, however often the link put the message off', () => {
  expect(verdictOf(retry(5000, true), { ...LAST, tries: 58, attempt: 31_000 }).outcome.kind).toBe('retry');
  expect(verdictOf(retry(5000, true), { ...LAST, tries: 59 }).outcome).toMatchObject({
    kind: 'refused',
    status: 'REJECTED',
  });
});

test('a message that the carrier accepted, or may have accepted, never moves', () => {
  const unknown: Outcome = { kind: 'unknown', text: 'no response', carrierIds: [] };
  const accepted: Outcome = { kind: 'accepted', carrierIds: ['a'] };
  for (const outcome of [unknown, accepted])
    expect(verdictOf(outcome, chunk({ tries: 9 }))).toEqual({ outcome, elsewhere: false });
});
