import { expect, test } from 'vitest';
import { createSignal, startLoop } from './background.ts';
import { silentLog } from './log.ts';

const HOUR = 3_600_000;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Work whose runs the test ends one by one. */
function heldWork() {
  const runs: PromiseWithResolvers<number>[] = [];
  const work = (): Promise<number> => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  };
  return { runs, work };
}

test('the work runs at once, and again when it says so', async () => {
  const { runs, work } = heldWork();
  const loop = startLoop('test', work, silentLog);
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(0);
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve(HOUR);
  await loop.stop();
});

test('a wake ends the pause', async () => {
  const { runs, work } = heldWork();
  const loop = startLoop('test', work, silentLog);
  runs[0]?.resolve(HOUR);
  await turn();
  expect(runs).toHaveLength(1);
  loop.wake();
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve(HOUR);
  await loop.stop();
});

test('a wake during a run starts no concurrent run, but another one after it', async () => {
  const { runs, work } = heldWork();
  const loop = startLoop('test', work, silentLog);
  loop.wake();
  await turn();
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(HOUR);
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve(HOUR);
  await loop.stop();
});

test('stop waits for the run in progress, and nothing runs afterwards', async () => {
  const { runs, work } = heldWork();
  const loop = startLoop('test', work, silentLog);
  let stopped = false;
  const stopping = loop.stop().then(() => {
    stopped = true;
  });
  await turn();
  expect(stopped).toBe(false);
  runs[0]?.resolve(0);
  await stopping;
  loop.wake();
  await turn();
  expect(runs).toHaveLength(1);
});

test('stop ends a pause at once', async () => {
  const { runs, work } = heldWork();
  const loop = startLoop('test', work, silentLog);
  runs[0]?.resolve(HOUR);
  await turn();
  await loop.stop();
  expect(runs).toHaveLength(1);
});

test('a failure is logged with the name of the work, and the work continues', async () => {
  const logged: object[] = [];
  const { runs, work } = heldWork();
  const loop = startLoop('sweep', work, { ...silentLog, error: (fields) => void logged.push(fields) });
  const err = new Error('no disk');
  runs[0]?.reject(err);
  await turn();
  expect(logged).toEqual([{ err, task: 'sweep' }]);
  loop.wake();
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve(HOUR);
  await loop.stop();
});

test('the wait doubles after failures in a row, up to a maximum, and is a second again after a success', async () => {
  const waits: number[] = [];
  const signal = { ...createSignal(), wait: async (ms: number) => void waits.push(ms) };
  let runs = 0;
  const done = Promise.withResolvers<void>();
  const work = async (): Promise<number> => {
    runs += 1;
    if (runs === 9) done.resolve();
    if (runs === 6 || runs >= 9) return HOUR;
    throw new Error('no bucket');
  };
  const loop = startLoop('test', work, silentLog, { signal, maxRetryMs: 5000 });
  await done.promise;
  await loop.stop();
  expect(waits.slice(0, 8)).toEqual([1000, 2000, 4000, 5000, 5000, HOUR, 1000, 2000]);
});

test('a failure of the run that stop waits for is not logged', async () => {
  const logged: object[] = [];
  const { runs, work } = heldWork();
  const loop = startLoop('sweep', work, { ...silentLog, error: (fields) => void logged.push(fields) });
  const stopping = loop.stop();
  runs[0]?.reject(new Error('the pool is closed'));
  await stopping;
  expect(logged).toEqual([]);
});
