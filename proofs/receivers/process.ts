// Runs webhook receivers as a process of their own: `node proofs/receivers/process.ts <ports> <niceness>`. A path
// begins with the name of a manner of test/support/http/receiver.ts, which the receiver adopts after a line `{ "do":
// "turn" }`; with any other name it stays a good receiver. Each line is answered by a report of what was received since
// the last one.
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { type Manner, type Received, startReceiver } from '../../test/support/http/receiver.ts';
import { FLOODING, SLOW } from './manners.ts';

const [ports = 1, niceness = 0] = process.argv.slice(2).map(Number);
setPriority(niceness);
const receiver = await startReceiver({ ports });
let hostile = false;
let reported = 0;

const nameIn = (path: string): string => decodeURIComponent(path.split('/')[1] ?? '');
const mannerOf = (path: string): Manner | undefined => [...SLOW, ...FLOODING].find((manner) => manner === nameIn(path));

// Before it turns hostile such a receiver keeps no connection open either, so that the comparison does not count that
// cost.
receiver.answer(({ path }) => {
  const manner = mannerOf(path);
  if (manner === undefined) return {};
  return hostile ? { manner } : { headers: { connection: 'close' } };
});

/** The time from the timestamp of the event to its arrival, in ms. */
const latencyOf = ({ body, at }: Received): number => at - Date.parse(JSON.parse(body).timestamp);

function report(): void {
  const nowMs = Date.now();
  const received = receiver.requests.slice(reported);
  reported += received.length;
  console.log(
    JSON.stringify({
      latencies: received.map(latencyOf),
      paths: new Set(received.map(({ path }) => path)).size,
      heldMs: Math.max(0, ...received.map(({ at, endedAt }) => (endedAt ?? nowMs) - at)),
    }),
  );
}

createInterface({ input: process.stdin }).on('line', (line) => {
  report();
  hostile ||= JSON.parse(line).do === 'turn';
});
process.once('SIGTERM', () => process.exit(0));
console.log(JSON.stringify({ ports: receiver.ports }));
