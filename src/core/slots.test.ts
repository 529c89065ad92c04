import { expect, test } from 'vitest';
import { createSlots } from './limits.ts';

test('no more work runs than there are slots, in the order of the calls, also after a failure', async () => {
  const slots = createSlots(2);
  const began: number[] = [];
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const runs = gates.map((gate, i) =>
    slots.run(async () => {
      began.push(i);
      await gate.promise;
      if (i === 0) throw new Error('failed');
    }),
  );
  expect(began).toEqual([0, 1]);
  gates[0]?.resolve();
  await expect(runs[0]).rejects.toThrow('failed');
  expect(began).toEqual([0, 1, 2]);
  for (const gate of gates) gate.resolve();
  await Promise.all(runs.slice(1));
  expect(began).toEqual([0, 1, 2, 3]);
});
