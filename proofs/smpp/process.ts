// Runs an SMPP client as a process of its own: `node --expose-gc proofs/smpp/process.ts <port> <window>`. It keeps its
// window full. On stdin, a line `{ "do": "report" }` is answered by the outcomes since the last report, and
// `{ "do": "stop" }` by the same after the client has stopped.
import { createInterface } from 'node:readline';
import type { MessageOutcome } from './client.ts';
import { startClient } from './own-client.ts';

const [port, window] = process.argv.slice(2).map(Number);
const outcomesByMessage = new Map<number, MessageOutcome[]>();
let submitted = 0;
let stopping = false;
const client = startClient(port ?? 0, window ?? 1, fill);

function fill(): void {
  while (!stopping && client.room() > 0) submitOne(submitted++);
}

function submitOne(n: number): void {
  client.submit(n, (outcome) => {
    const earlier = outcomesByMessage.get(n);
    if (earlier) earlier.push(outcome);
    else outcomesByMessage.set(n, [outcome]);
    setImmediate(fill);
  });
}

function printReport(): void {
  globalThis.gc?.();
  const outcomes = [...outcomesByMessage];
  outcomesByMessage.clear();
  console.log(JSON.stringify({ submitted, outcomes, heapBytes: process.memoryUsage().heapUsed }));
}

createInterface({ input: process.stdin }).on('line', (line) => {
  stopping = JSON.parse(line).do === 'stop';
  if (!stopping) printReport();
  else void client.stop().then(() => setImmediate(printReport));
});
console.log(JSON.stringify({ ready: true }));
