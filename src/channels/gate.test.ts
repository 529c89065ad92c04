import { expect, onTestFinished, test, vi } from 'vitest';
import type { Outcome, Submission } from './carrier.ts';
import { createGate, type Gate } from './http-client.ts';

const submission: Submission = {
  messageId: '018f0000-0000-7000-8000-000000000001',
  destination: '+351912345678',
  sender: 'agent',
  body: 'Hello',
  validUntil: null,
  wantReceipt: true,
};
const ACCEPTED: Outcome = { kind: 'accepted', carrierIds: ['1'] };

function openGate(slots = 2, onChange: () => void = () => undefined): Gate {
  const gate = createGate({ slots, throttlePauseMs: 20 }, onChange);
  gate.setOpen(true);
  onTestFinished(() => gate.drain(0));
  return gate;
}

test('it is closed at first', async () => {
  const gate = createGate({ slots: 2, throttlePauseMs: 20 }, () => undefined);
  expect(gate.room()).toBe(0);
  expect(await gate.pass(submission, async () => ACCEPTED)).toMatchObject({ kind: 'retry', code: 'NOT_SENT' });
});

test('a submit without a free slot is returned as not sent', async () => {
  const gate = openGate(1);
  const answer = Promise.withResolvers<Outcome>();
  const first = gate.pass(submission, () => answer.promise);
  expect(gate.room()).toBe(0);
  expect(await gate.pass(submission, async () => ACCEPTED)).toMatchObject({ kind: 'retry', counts: false });
  answer.resolve(ACCEPTED);
  expect(await first).toEqual(ACCEPTED);
  expect(gate.room()).toBe(1);
});

test('an error on our side ends as unknown and frees the slot', async () => {
  const gate = openGate(1);
  expect(await gate.pass(submission, () => Promise.reject(new Error('a bug')))).toMatchObject({ kind: 'unknown' });
  expect(gate.room()).toBe(1);
});

test('a pause leaves no room for as long as the network asked, and its end is reported', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const onChange = vi.fn();
  const gate = openGate(2, onChange);
  gate.pause(60);
  expect([gate.room(), gate.pauseMs()]).toEqual([0, 60]);
  onChange.mockClear();
  await vi.advanceTimersByTimeAsync(60);
  expect([gate.room(), gate.pauseMs()]).toEqual([2, 0]);
  expect(onChange).toHaveBeenCalled();
});

test('draining waits for submits in flight', async () => {
  const gate = openGate();
  const answer = Promise.withResolvers<Outcome>();
  const outcome = gate.pass(submission, () => answer.promise);
  const drained = vi.fn();
  const draining = gate.drain(60_000).then(drained);
  expect(gate.room()).toBe(0);
  expect(gate.stopping.aborted).toBe(true);
  await Promise.resolve();
  expect(drained).not.toHaveBeenCalled();
  answer.resolve(ACCEPTED);
  await Promise.all([outcome, draining]);
});
