import { expect, test } from 'vitest';
import { createTimeline } from './smsc-script.ts';

test('items run when they are due and never before', async () => {
  const ran: [string, number][] = [];
  const started = performance.now();
  const timeline = createTimeline<string>((item) => ran.push([item, performance.now() - started]));
  timeline.after(60, 'late');
  timeline.after(0, 'first');
  timeline.after(30, 'middle');
  timeline.after(30, 'middle too');
  await expect.poll(() => timeline.size()).toBe(0);
  expect(ran.map(([item]) => item)).toEqual(['first', 'middle', 'middle too', 'late']);
  for (const [index, dueMs] of [0, 30, 30, 60].entries()) expect(ran[index]?.[1]).toBeGreaterThanOrEqual(dueMs);
});

test('an item may add others, even without a delay', async () => {
  let left = 5;
  const timeline = createTimeline<null>(() => {
    if (--left > 0) timeline.after(0, null);
  });
  timeline.after(0, null);
  await expect.poll(() => left).toBe(0);
  expect(timeline.size()).toBe(0);
});

test('a timeline works again after it was idle, and nothing runs after a stop', async () => {
  const ran: string[] = [];
  const timeline = createTimeline<string>((item) => ran.push(item));
  timeline.after(0, 'a');
  await expect.poll(() => ran).toEqual(['a']);
  timeline.after(0, 'b');
  await expect.poll(() => ran).toEqual(['a', 'b']);
  timeline.after(0, 'c');
  timeline.stop();
  const other = createTimeline<string>((item) => ran.push(item));
  other.after(20, 'd');
  await expect.poll(() => ran).toEqual(['a', 'b', 'd']);
});
