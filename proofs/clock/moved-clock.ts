// Moves the clock that a process of the program sees; loaded before it (`node --import`). The offset in milliseconds is
// read from the file named by PROOF_CLOCK and may change at any time. Timers and performance.now() are not affected, as
// when the clock of a machine is set.
import { readFileSync } from 'node:fs';

const POLL_MS = 20;
const file = process.env['PROOF_CLOCK'];
if (file === undefined) throw new Error('PROOF_CLOCK must name a file');

const realNow = Date.now;
let offsetMs = 0;
let readAt = Number.NEGATIVE_INFINITY;

function now(): number {
  if (performance.now() - readAt > POLL_MS) {
    offsetMs = Number(readFileSync(String(file), 'utf8'));
    readAt = performance.now();
  }
  return realNow() + offsetMs;
}

globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});
