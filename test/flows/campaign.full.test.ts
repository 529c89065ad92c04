import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAndConfirm, findOne, mobileNumbers, move, untilEnded } from '../support/campaigns/campaign.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram({ carriers: { main: { script: { responseDelayMs: 20 } } } });
});
afterAll(() => program[Symbol.asyncDispose]());

const taken = (prefix: string): string[] =>
  program.smsc.ledger.submits().flatMap(({ destination }) => (destination.startsWith(prefix) ? [destination] : []));

/** Waits until the carrier has received nothing for a while; returns how many messages it has. */
async function untilStill(prefix: string): Promise<number> {
  let [seen, looks] = [-1, 0];
  return until('the carrier to get nothing more', () => {
    const now = taken(prefix).length;
    looks = now === seen ? looks + 1 : 0;
    seen = now;
    return looks > 25 && now;
  });
}

test('every recipient gets exactly one message, and the campaign is complete when all messages have ended', async () => {
  const id = await createAndConfirm(program.client, {
    destinations: mobileNumbers(1500, '+39333'),
    smsBody: 'Hi {{name|you}}',
  });
  const campaign = await untilEnded(program.client, id);
  expect(campaign).toMatchObject({ status: 3, failureReason: null, totalSuccess: 1500, totalPending: 0, progress: 1 });
  expect(taken('39333')).toHaveLength(1500);
  expect(new Set(taken('39333')).size).toBe(1500);
});

test('a paused campaign stops in the middle, and a resumed one continues with the remaining recipients', async () => {
  const id = await createAndConfirm(program.client, { destinations: mobileNumbers(6000, '+39334') });
  await until('the first messages', () => taken('39334').length > 300);
  await move(program.client, id, 'pause');
  const still = await untilStill('39334');
  expect(still).toBeLessThan(6000);
  expect(await findOne(program.client, id)).toMatchObject({ status: 2, paused: true });
  await move(program.client, id, 'resume');
  await untilEnded(program.client, id);
  expect(new Set(taken('39334')).size).toBe(6000);
  expect(taken('39334')).toHaveLength(6000);
});

test('a campaign cancelled in the middle withdraws and counts what was not sent, and ends', async () => {
  const id = await createAndConfirm(program.client, { destinations: mobileNumbers(6000, '+39335') });
  await until('the first messages', () => taken('39335').length > 300);
  await move(program.client, id, 'cancel');
  const campaign = await untilEnded(program.client, id);
  const sent = new Set(taken('39335')).size;
  expect(taken('39335')).toHaveLength(sent);
  expect(sent).toBeLessThan(6000);
  expect(campaign).toMatchObject({ status: 3, totalSuccess: sent, totalFailed: 0, totalPending: 0, totalSkipped: 0 });
  expect(campaign.totalCancelled).toBe(6000 - sent);
});
