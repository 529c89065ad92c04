import { expect, test } from 'vitest';
import { expectLinear } from '../../../test/support/linear.ts';
import { nearestName } from './unknown-fields.ts';

const KNOWN = ['scheduledDate', 'smsBody', 'smsSender', 'simulation', 'sender', 'body', 'to'];

test.each([
  ['scheduleDate', 'scheduledDate'],
  ['smsbody', 'smsBody'],
  ['SENDER', 'sender'],
  ['simulatoin', 'simulation'],
  ['simulations', 'simulation'],
  ['bdy', 'body'],
])('%s was meant to be %s', (name, meant) => {
  expect(nearestName(name, KNOWN)).toBe(meant);
});

test.each(['colour', 'x', '', 'scheduledDateOfTheMessage', 'tx'])('%j is like none of them', (name) => {
  expect(nearestName(name, KNOWN)).toBeNull();
});

test('a long name is not compared', async () => {
  await expectLinear(
    (size) => 'scheduledDate'.repeat(size),
    (name) => nearestName(name, KNOWN),
  );
});
