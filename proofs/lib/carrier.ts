import { join } from 'node:path';
import type { Counts, DeliveryEntry, SubmitEntry } from '../../src/sandbox/smsc-ledger.ts';
import type { SandboxScript } from '../../src/sandbox/smsc-script.ts';
import type { InboundMessage } from '../../src/sandbox/smsc-submit.ts';
import {
  HTTP_SMS_PROTOCOL,
  HTTP_SMS_SECRETS,
  type HttpSmsScript,
} from '../../test/support/carriers/http-sms-server.ts';
import { readLedgerFile } from '../../test/support/ledger-file.ts';
import type { HttpCarrierCommand } from './http-carrier-process.ts';
import { startProcess } from './processes.ts';
import type { Run } from './proof.ts';
import type { SandboxCommand } from './sandbox-process.ts';

/** Protocol between the gateway and the carrier of a run: the kind of the connection. */
export type Protocol = 'smpp' | 'http';

const PROCESS_OF: Readonly<Record<Protocol, URL>> = {
  smpp: new URL('./sandbox-process.ts', import.meta.url),
  http: new URL('./http-carrier-process.ts', import.meta.url),
};
const PASSWORD = 'secret';
const SYSTEM_ID = 'proof';
/** Longer than any response takes on a busy machine, and shorter than the patience of the proofs. */
const HTTP_TIMEOUT_SECONDS = 6;

/** The behaviour of the carrier of a run. */
export type CarrierScript = Partial<SandboxScript & Pick<HttpSmsScript, 'errorShare'>>;

/** Settings and secret of the gateway's connection to a carrier. */
export type CarrierLink = { readonly settings: object; readonly secret: Readonly<Record<string, string>> };

/** Returns the settings of a connection with at most `window` unanswered messages per worker, and parts per second. */
export const limitsOf = (
  way: Protocol,
  { window, tps = 0 }: { readonly window: number; readonly tps?: number },
): object => (way === 'http' ? { concurrency: window, tps } : { window, tps });

/** Everything that the carrier was sent, and the receipts that it sent. */
export type Ledger = { readonly submits: readonly SubmitEntry[]; readonly receipts: readonly DeliveryEntry[] };

/** The sandbox carrier of a run, with its ledger: the oracle that the gateway's own records are compared with. */
export type CarrierProcess = {
  readonly port: number;
  readonly link: CarrierLink;
  /**
   * Returns its counts so far, the number of receipts that it still owes (scheduled, waiting, or unacknowledged), and
   * the number of messages that it accepted and deliberately left without a response.
   */
  counts(): Promise<Counts & { readonly owed: number; readonly withheld: number }>;
  /** Tells a carrier over HTTP the address of the gateway, to which it posts receipts. */
  callTo(gateway: string): Promise<void>;
  script(set: Partial<SandboxScript>): Promise<void>;
  /** Sends a message from a handset to one of the gateway's numbers; resolves when the gateway has taken it. */
  inbound(message: InboundMessage): Promise<void>;
  /** Reads from its ledger file everything that it took and delivered. */
  ledger(): Promise<Ledger>;
  stop(): Promise<void>;
};

/**
 * Starts the carrier. Its ledger is written to a file from the first entry on and survives everything that is killed.
 */
export async function startCarrier(run: Run, way: Protocol, script: CarrierScript): Promise<CarrierProcess> {
  const ledgerFile = join(run.folder, 'ledger.ndjson');
  const login = { systemId: SYSTEM_ID, password: PASSWORD };
  const options = { ledger: 'counts', ledgerFile, seed: run.seed, ...login, ...script };
  const sandbox = await startProcess(run, { file: PROCESS_OF[way], args: [JSON.stringify(options)] });

  async function exchange(command: Command): Promise<Record<string, unknown>> {
    sandbox.send(command);
    const answer = await sandbox.nextLine();
    if (answer['ok'] !== true) throw new Error(`the sandbox returned ${JSON.stringify(answer)}`);
    return answer;
  }
  let last: Promise<unknown> = Promise.resolve();
  /** One after the other: a slow command would get a response after the next one, and responses have no name. */
  function ask(command: Command): Promise<Record<string, unknown>> {
    const answer = last.then(() => exchange(command));
    last = answer.catch(() => undefined);
    return answer;
  }

  const port = Number(sandbox.ready['port']);
  return {
    port,
    link: linkTo(way, port),
    async counts() {
      const answer = await ask({ do: 'counts' });
      const counts = answer['counts'] as Counts;
      const open = counts.receipts - counts.receiptsAcked - counts.receiptsRefused - counts.receiptsLost;
      return { ...counts, owed: open + Number(answer['scheduled']), withheld: Number(answer['withheld'] ?? 0) };
    },
    async callTo(gateway) {
      if (way === 'http') await ask({ do: 'callTo', url: `${gateway}/api/callbacks/http/${SYSTEM_ID}` });
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

type Command = SandboxCommand | HttpCarrierCommand;

function linkTo(way: Protocol, port: number): CarrierLink {
  if (way === 'smpp')
    return { settings: { host: '127.0.0.1', port, systemId: SYSTEM_ID }, secret: { password: PASSWORD } };
  const settings = {
    baseUrl: `http://127.0.0.1:${port}`,
    submitTimeoutSeconds: HTTP_TIMEOUT_SECONDS,
    ...HTTP_SMS_PROTOCOL,
  };
  return { settings, secret: { ...HTTP_SMS_SECRETS, callbackToken: 'not-used-here' } };
}

/** Groups the submits that the carrier accepted by destination, with the plus sign. */
export const takenByDestination = ({ submits }: Ledger): Map<string, SubmitEntry[]> =>
  Map.groupBy(
    submits.filter(({ status }) => status === 'ESME_ROK'),
    ({ destination }) => `+${destination}`,
  );
