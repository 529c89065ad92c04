// An SMPP client as a process of its own: `node --expose-gc proofs/smpp/process.ts <port> <window>`. It keeps its window
// full. A line `{ "do": "report" }` on stdin is answered by what it told since the last one, `{ "do": "stop" }` by the
// same after it has stopped.
import { createInterface } from 'node:readline';
import type { Told } from './client.ts';
import { startClient } from './own-client.ts';

const [port, window] = process.argv.slice(2).map(Number);
const told = new Map<number, Told[]>();
let submitted = 0;
let stopping = false;
const client = startClient(port ?? 0, window ?? 1, fill);

function fill(): void {
  while (!stopping && client.room() > 0) submitOne(submitted++);
}

function submitOne(n: number): void {
  client.submit(n, (outcome) => {
    const earlier = told.get(n);
    if (earlier) earlier.push(outcome);
    else told.set(n, [outcome]);
    setImmediate(fill);
  });
}

function report(): void {
  globalThis.gc?.();
  const outcomes = [...told];
  told.clear();
  console.log(JSON.stringify({ submitted, outcomes, heapBytes: process.memoryUsage().heapUsed }));
}

createInterface({ input: process.stdin }).on('line', (line) => {
  stopping = JSON.parse(line).do === 'stop';
  if (!stopping) report();
  else void client.stop().then(() => setImmediate(report));
});
console.log(JSON.stringify({ ready: true }));
