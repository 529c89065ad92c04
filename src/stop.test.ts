import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { createClosers, followStopSignals, unlessAborted } from './base.ts';

const NEVER = new Promise<never>(() => undefined);

/** A fake process that receives signals, and a clock that the test sets. */
function fakeProcess() {
  const exits: number[] = [];
  const own = Object.assign(new EventEmitter(), { exit: (code: number) => void exits.push(code) });
  const clock = { ms: 0 };
  return { own, exits, clock, stopping: followStopSignals(own, () => clock.ms) };
}

test('Ctrl+C under npm arrives twice and still stops the program gracefully', async () => {
  const { own, exits, clock, stopping } = fakeProcess();
  expect(stopping.signal.aborted).toBe(false);
  own.emit('SIGINT');
  clock.ms = 20;
  own.emit('SIGINT');
  await stopping.stopped;
  expect(stopping.signal.aborted).toBe(true);
  expect(exits).toEqual([]);
});

test('a second signal after a while ends the process, as soon as what may not be left behind has ended', async () => {
  const { own, exits, clock, stopping } = fakeProcess();
  const database = Promise.withResolvers<void>();
  stopping.onHalt(() => database.promise);
  stopping.onHalt(() => Promise.reject(new Error('no such process')));
  own.emit('SIGTERM');
  clock.ms = 1500;
  own.emit('SIGINT');
  await stopping.stopped;
  expect(exits).toEqual([]);
  database.resolve();
  await expect.poll(() => exits).toEqual([1]);
});

test('a second signal ends the process also when that does not end', async () => {
  const { own, exits, clock, stopping } = fakeProcess();
  stopping.onHalt(() => NEVER);
  own.emit('SIGTERM');
  clock.ms = 1500;
  own.emit('SIGTERM');
  await expect.poll(() => exits).toEqual([1]);
});

test('what was opened last is closed first, and nothing is closed twice', async () => {
  const closed: string[] = [];
  const closers = createClosers();
  for (const name of ['database', 'pool', 'API'])
    closers.add(name, async () => {
      closed.push(name);
    });
  await closers.closeAll();
  await closers.closeAll();
  expect(closed).toEqual(['API', 'pool', 'database']);
});

test('what fails or hangs keeps nothing else open, and the error names it', async () => {
  const closed: string[] = [];
  const closers = createClosers(50);
  closers.addDatabase(async () => {
    closed.push('database');
  });
  closers.add('pool', () => NEVER);
  closers.add('worker', () => Promise.reject(new Error('no connection')));
  await expect(closers.closeAll()).rejects.toThrow(
    'The program did not stop cleanly (worker: Error: no connection; pool: did not end in time).',
  );
  expect(closed).toEqual(['database']);
});

test('a wait ends when the program is to stop, before or after it began', async () => {
  const stop = new AbortController();
  const waiting = unlessAborted(NEVER, stop.signal);
  const reason = new Error('stop');
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(unlessAborted(NEVER, stop.signal)).rejects.toBe(reason);
  expect(await unlessAborted(Promise.resolve(1), new AbortController().signal)).toBe(1);
});
