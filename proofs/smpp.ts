import { setTimeout as delay } from 'node:timers/promises';
import { startProcess } from './processes.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from './proof.ts';
import type { Told } from './smpp/client.ts';
import { type Known, type Peer, startPeer } from './smpp/peer.ts';

const PDUS: Readonly<Record<Mode, number>> = { tiny: 5000, quick: 200_000, full: 10_000_000 };
const WINDOW = 10;
/** The client tells so often in a run what became of its messages; the first time it is warm. */
const REPORTS = 20;
const ANSWER_MS = 5000;
/** A leak of one octet a PDU would show in the full run. */
const HEAP_GROWTH_BYTES = 8_000_000;

export const smpp: Proof = {
  promise: 'No carrier can crash, wedge or confuse the SMPP client, and every message in the window is told of once.',
  sabotage: {
    fault: 'the client is the npm library smpp 0.5.1',
    file: new URL('./sabotage/smpp.ts', import.meta.url),
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const pdus = PDUS[run.mode];
  const peer = await startPeer(run);
  const client = await startProcess(run, {
    file: new URL('./smpp/process.ts', import.meta.url),
    args: [String(peer.port), String(WINDOW)],
    flags: ['--expose-gc', ...(run.sabotage === null ? [] : ['--import', run.sabotage])],
  });
  const watch = createWatch(peer.known);
  const ask = async (what: 'report' | 'stop'): Promise<void> => {
    client.tell({ do: what });
    const silence = delay(ANSWER_MS, null, { ref: false });
    const answer = await Promise.race([client.answer().catch(() => null), silence]);
    if (answer) watch.hear(answer);
  };
  let present = true;
  for (let report = 1; report <= REPORTS && present; report++) {
    present = await peer.until((pdus * report) / REPORTS);
    await ask('report');
    if (report % 5 === 0) run.say(`${peer.attack.pdus} PDUs in ${peer.attack.sessions} sessions`);
  }
  await ask('stop');
  const crashes = client.running() ? 0 : 1;
  await client.stop();
  peer.close();
  return conclude(peer, watch, { crashes, gaveUp: present ? 0 : 1 });
}

type End = { readonly crashes: number; readonly gaveUp: number };

function conclude({ attack }: Peer, { totals, heapGrowth }: ReturnType<typeof createWatch>, end: End): Findings {
  const neverTold = totals.submitted - totals.told;
  const figures = { ...attack, ...end, ...totals, neverTold, heapGrowthBytes: heapGrowth() };
  return judge(figures, {
    'the client does not crash': end.crashes === 0,
    'it answers or closes within a second': attack.wedged === 0,
    'it comes back after every cut': end.gaveUp === 0,
    'each message is told of once': neverTold === 0 && totals.toldTwice === 0,
    'nothing is told that cannot be': totals.untrue === 0,
    'its memory stays flat': heapGrowth() <= HEAP_GROWTH_BYTES,
  });
}

type Report = { submitted: number; outcomes: [n: number, told: Told[]][]; heapBytes: number };

/** Listens to what the client tells, and compares it with what the peer knows. */
function createWatch({ received, answered }: Known) {
  const totals = { submitted: 0, told: 0, toldTwice: 0, untrue: 0, accepted: 0, refused: 0, retry: 0, unknown: 0 };
  const seen = new Set<number>();
  const heap: number[] = [];

  /** Not taken can only be what never arrived, or was answered; taken and refused only what was answered. */
  const isUntrue = (n: number, told: Told): boolean =>
    told === 'retry' ? received.has(n) && !answered.has(n) : told !== 'unknown' && !answered.has(n);

  function hearOne(n: number, told: readonly Told[]): void {
    totals.toldTwice += told.length - 1 + (seen.has(n) ? 1 : 0);
    totals.told += seen.has(n) ? 0 : 1;
    seen.add(n);
    for (const outcome of told) {
      totals[outcome]++;
      if (isUntrue(n, outcome)) totals.untrue++;
    }
  }

  return {
    totals,
    hear(answer: Record<string, unknown>): void {
      const { submitted, outcomes, heapBytes } = answer as Report;
      totals.submitted = submitted;
      heap.push(heapBytes);
      for (const [n, told] of outcomes) hearOne(n, told);
    },
    heapGrowth: () => (heap.at(-1) ?? 0) - (heap[0] ?? 0),
  };
}
