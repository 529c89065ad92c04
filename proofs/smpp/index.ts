import { setTimeout as delay } from 'node:timers/promises';
import { startProcess } from '../lib/processes.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import type { MessageOutcome } from './client.ts';
import { type Known, type Peer, startPeer } from './peer.ts';

const PDUS: Readonly<Record<Mode, number>> = { tiny: 5000, quick: 200_000, full: 10_000_000 };
const WINDOW = 10;
/** The client reports this often during a run; by the first report it is warm. */
const REPORTS = 20;
const ANSWER_MS = 5000;
/** In the full run this shows a leak of one byte per PDU. */
const HEAP_GROWTH_BYTES = 8_000_000;

export const smpp: Proof = {
  promise: 'No carrier can crash, block or confuse the SMPP client, and every message gets exactly one outcome.',
  sabotage: {
    fault: 'of the requests that are open when a connection ends, half are forgotten and half count as not sent',
    file: new URL('../sabotage/smpp.ts', import.meta.url),
    breaks: ['each message gets exactly one outcome', 'no outcome is false'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const pdus = PDUS[run.mode];
  const peer = await startPeer(run);
  const client = await startProcess(run, {
    file: new URL('./process.ts', import.meta.url),
    args: [String(peer.port), String(WINDOW)],
    flags: ['--expose-gc', ...(run.sabotage === null ? [] : ['--import', run.sabotage])],
  });
  const comparison = createComparison(peer.known);
  const requestReport = async (what: 'report' | 'stop'): Promise<void> => {
    client.send({ do: what });
    const silence = delay(ANSWER_MS, null, { ref: false });
    const answer = await Promise.race([client.nextLine().catch(() => null), silence]);
    if (answer) comparison.addReport(answer);
  };
  let connected = true;
  for (let report = 1; report <= REPORTS && connected; report++) {
    connected = await peer.until((pdus * report) / REPORTS);
    await requestReport('report');
    if (report % 5 === 0) run.log(`${peer.attack.pdus} PDUs in ${peer.attack.sessions} sessions`);
  }
  await requestReport('stop');
  const crashes = client.running() ? 0 : 1;
  await client.stop();
  peer.close();
  return conclude(peer, comparison, { crashes, gaveUp: connected ? 0 : 1 });
}

type Ending = { readonly crashes: number; readonly gaveUp: number };

function conclude(
  { attack }: Peer,
  { totals, heapGrowth }: ReturnType<typeof createComparison>,
  end: Ending,
): Findings {
  const neverReported = totals.submitted - totals.reported;
  const figures = { ...attack, ...end, ...totals, neverReported, heapGrowthBytes: heapGrowth() };
  return judge(figures, {
    'the client does not crash': end.crashes === 0,
    'it answers or closes within a second': attack.wedged === 0,
    'it reconnects after every cut': end.gaveUp === 0,
    'each message gets exactly one outcome': neverReported === 0 && totals.reportedTwice === 0,
    'no outcome is false': totals.untrue === 0,
    'its memory stays flat': heapGrowth() <= HEAP_GROWTH_BYTES,
  });
}

type Report = { submitted: number; outcomes: [n: number, reported: MessageOutcome[]][]; heapBytes: number };

/** Collects the reports of the client and compares them with what the peer knows. */
function createComparison({ received, answered }: Known) {
  const totals = {
    submitted: 0,
    reported: 0,
    reportedTwice: 0,
    untrue: 0,
    accepted: 0,
    refused: 0,
    retry: 0,
    unknown: 0,
  };
  const seen = new Set<number>();
  const heap: number[] = [];

  /**
   * Whether an outcome is false: `retry` for a message that arrived without an answer, or `accepted` or `refused`
   * without an answer.
   */
  const isUntrue = (n: number, outcome: MessageOutcome): boolean =>
    outcome === 'retry' ? received.has(n) && !answered.has(n) : outcome !== 'unknown' && !answered.has(n);

  function addOne(n: number, reported: readonly MessageOutcome[]): void {
    totals.reportedTwice += reported.length - 1 + (seen.has(n) ? 1 : 0);
    totals.reported += seen.has(n) ? 0 : 1;
    seen.add(n);
    for (const outcome of reported) {
      totals[outcome]++;
      if (isUntrue(n, outcome)) totals.untrue++;
    }
  }

  return {
    totals,
    addReport(answer: Record<string, unknown>): void {
      const { submitted, outcomes, heapBytes } = answer as Report;
      totals.submitted = submitted;
      heap.push(heapBytes);
      for (const [n, reported] of outcomes) addOne(n, reported);
    },
    heapGrowth: () => (heap.at(-1) ?? 0) - (heap[0] ?? 0),
  };
}
