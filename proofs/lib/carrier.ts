import { join } from 'node:path';
import type { DeliveryEntry, SubmitEntry } from '../../src/simulators/smsc/ledger-entries.ts';
import { readLedgerFile } from '../../src/simulators/smsc/ledger-file.ts';
import type { InboundMessage } from '../../src/simulators/smsc/inbound.ts';
import type { Counts } from '../../src/simulators/smsc/ledger.ts';
import type { SandboxCommand } from '../../src/simulators/smsc/run.ts';
import type { SandboxScript } from '../../src/simulators/smsc/script.ts';
import { startProcess } from './processes.ts';
import type { Run } from './proof.ts';

const PROCESS = new URL('./sandbox-process.ts', import.meta.url);

/** Everything that the carrier was sent, and the receipts that it sent. */
export type Ledger = { readonly submits: readonly SubmitEntry[]; readonly receipts: readonly DeliveryEntry[] };

/** The sandbox carrier of a run, with its ledger: the oracle that the gateway's own records are compared with. */
export type CarrierProcess = {
  readonly port: number;
  /** What it has counted so far, and the receipts that it still owes: scheduled, waiting, or unanswered. */
  counts(): Promise<Counts & { readonly owed: number }>;
  script(set: Partial<SandboxScript>): Promise<void>;
  /** Sends a message from a handset to one of the gateway's numbers; resolves when the gateway has taken it. */
  inbound(message: InboundMessage): Promise<void>;
  /** Reads everything that it took, answered and delivered from its ledger file. */
  ledger(): Promise<Ledger>;
  stop(): Promise<void>;
};

/**
 * Starts the carrier. Its ledger is written to a file from the first entry on and survives everything that is killed.
 */
export async function startCarrier(run: Run, script: Partial<SandboxScript>): Promise<CarrierProcess> {
  const ledgerFile = join(run.folder, 'ledger.ndjson');
  const options = { ledger: 'counts', ledgerFile, seed: run.seed, ...script };
  const sandbox = await startProcess(run, { file: PROCESS, args: [JSON.stringify(options)] });

  async function exchange(command: SandboxCommand): Promise<Record<string, unknown>> {
    sandbox.send(command);
    const answer = await sandbox.nextLine();
    if (answer['ok'] !== true) throw new Error(`the sandbox answered ${JSON.stringify(answer)}`);
    return answer;
  }
  let last: Promise<unknown> = Promise.resolve();
  /** One after the other: a slow command would be answered after the next one, and answers have no name. */
  function ask(command: SandboxCommand): Promise<Record<string, unknown>> {
    const answer = last.then(() => exchange(command));
    last = answer.catch(() => undefined);
    return answer;
  }

  return {
    port: Number(sandbox.ready['port']),
    async counts() {
      const answer = await ask({ do: 'counts' });
      const counts = answer['counts'] as Counts;
      const open = counts.receipts - counts.receiptsAcked - counts.receiptsRefused - counts.receiptsLost;
      return { ...counts, owed: open + Number(answer['scheduled']) };
    },
    script: async (set) => void (await ask({ do: 'script', set })),
    inbound: async (message) => void (await ask({ do: 'inbound', message })),
    async ledger() {
      await ask({ do: 'flush' });
      const entries = await readLedgerFile(ledgerFile);
      return {
        submits: entries.filter((entry) => entry.kind === 'submit'),
        receipts: entries.filter((entry): entry is DeliveryEntry => entry.kind === 'receipt'),
      };
    },
    stop: async () => void (await sandbox.stop()),
  };
}

/** Groups the submits that the carrier accepted by destination, with the plus sign. */
export const takenByDestination = ({ submits }: Ledger): Map<string, SubmitEntry[]> =>
  Map.groupBy(
    submits.filter(({ status }) => status === 'ESME_ROK'),
    ({ destination }) => `+${destination}`,
  );
