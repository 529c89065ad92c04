// Receivers as a process of their own: `node proofs/receivers/process.ts <ports>`. A path says who is called:
// /healthy/…, or a manner of src/testing/receiver.ts, which is put on when a line `{ "do": "turn" }` comes. Each line is
// answered by a report of what was received since the last one.
import { createInterface } from 'node:readline';
import { type Manner, type Received, startReceiver } from '../../src/testing/receiver.ts';
import { HEALTHY, MANNERS } from './manners.ts';

const receiver = await startReceiver({ ports: Number(process.argv[2] ?? 1) });
let hostile = false;
let reported = 0;

const nameIn = (path: string): string => decodeURIComponent(path.split('/')[1] ?? '');
const mannerOf = (path: string): Manner | undefined => MANNERS.find((manner) => manner === nameIn(path));

receiver.answer(({ path }) => {
  const manner = mannerOf(path);
  return hostile && manner !== undefined ? { manner } : {};
});

/** From the time in the event to its arrival. */
const latencyOf = ({ body, at }: Received): number => at - Date.parse(JSON.parse(body).timestamp);

function report(): void {
  const nowMs = Date.now();
  const received = receiver.requests.slice(reported);
  reported += received.length;
  const healthy = received.filter(({ path }) => nameIn(path) === HEALTHY);
  const others = received.filter(({ path }) => nameIn(path) !== HEALTHY);
  const heldMs = Math.max(0, ...others.map(({ at, endedAt }) => (endedAt ?? nowMs) - at));
  const seen = new Set(others.map(({ path }) => path)).size;
  console.log(JSON.stringify({ latencies: healthy.map(latencyOf), others: others.length, seen, heldMs }));
}

createInterface({ input: process.stdin }).on('line', (line) => {
  report();
  hostile ||= JSON.parse(line).do === 'turn';
});
process.once('SIGTERM', () => process.exit(0));
console.log(JSON.stringify({ ports: receiver.ports }));
