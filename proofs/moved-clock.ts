// Moves the clock that a process of the program sees: loaded before it (`node --import`). By how many milliseconds stands
// in the file PROOF_CLOCK names, and may change at any time. Timers and performance.now() go on as they were, as they do
// when the clock of a machine is set.
import { readFileSync } from 'node:fs';

const LOOK_MS = 20;
const file = process.env['PROOF_CLOCK'];
if (file === undefined) throw new Error('PROOF_CLOCK must name a file');

const realNow = Date.now;
let offsetMs = 0;
let lookedAt = Number.NEGATIVE_INFINITY;

function now(): number {
  if (performance.now() - lookedAt > LOOK_MS) {
    offsetMs = Number(readFileSync(String(file), 'utf8'));
    lookedAt = performance.now();
  }
  return realNow() + offsetMs;
}

globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});
