import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { waitForStopSignal } from './serve-commands.ts';

/** A fake process that receives signals, and a clock that the test sets. */
function fakeProcess() {
  const exits: number[] = [];
  const own = Object.assign(new EventEmitter(), { exit: (code: number) => void exits.push(code) });
  const clock = { ms: 0 };
  return { own, exits, clock, stopped: waitForStopSignal(own, () => clock.ms) };
}

test('Ctrl+C under npm arrives twice and still stops the program gracefully', async () => {
  const { own, exits, clock, stopped } = fakeProcess();
  own.emit('SIGINT');
  clock.ms = 20;
  own.emit('SIGINT');
  await stopped;
  expect(exits).toEqual([]);
});

test('a second signal after a while ends the process at once', async () => {
  const { own, exits, clock, stopped } = fakeProcess();
  own.emit('SIGTERM');
  clock.ms = 1500;
  own.emit('SIGINT');
  await stopped;
  expect(exits).toEqual([1]);
});
