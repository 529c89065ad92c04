import net from 'node:net';
import tls from 'node:tls';
import { createCore } from './core.ts';
import type { InboundMessage } from './inbound.ts';
import { createLedger, type Ledger, type LedgerOptions } from './ledger.ts';
import { createListener } from '../../carriers/smpp/listener.ts';
import type { OwedMessage } from './resume.ts';
import { defaultScript, type SandboxScript } from './script.ts';
import type { BindMode, Session } from './session.ts';

/** The options of the SMSC simulator: any part of its script, and the following. */
export type SandboxOptions = Partial<SandboxScript> & {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** A key and a certificate in PEM, to speak only TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** `counts` keeps no entries in memory. Default `entries`. */
  readonly ledger?: LedgerOptions['keep'];
  /** Path of a file to which every ledger entry is appended. */
  readonly ledgerFile?: string | undefined;
};

/** The state of one connection. */
export type SessionView = {
  readonly id: number;
  /** Null until the connection has bound. */
  readonly systemId: string | null;
  readonly mode: BindMode | null;
  /** Submits without a response. */
  readonly unanswered: number;
  /** Accepted submits. */
  readonly taken: number;
};

/** A running SMSC simulator. */
export type SandboxSmsc = {
  readonly port: number;
  readonly ledger: Ledger;
  /** The behaviour, which may be changed at any time with effect from the next PDU on. */
  readonly script: SandboxScript;
  /** Returns the open connections, bound or not. */
  sessions(): SessionView[];
  /** Returns the number of deliver_sm that wait for a session, a window or a repetition. */
  waiting(): number;
  /** Returns the number of messages whose next state is not due yet. */
  scheduled(): number;
  /**
   * Sends a message from a handset, in parts when it is long. Resolves with the number of parts and of acknowledged
   * parts when every part got its response or was given up. Rejects when `systemId` is not set and no account has bound
   * yet.
   */
  injectMo(inbound: InboundMessage): Promise<{ readonly parts: number; readonly acked: number }>;
  /**
   * Continues with messages that an earlier simulator accepted, as if they had just been submitted. Their receipts wait
   * for a session of their account.
   */
  resume(owed: readonly OwedMessage[]): void;
  /** Closes every connection abruptly; the listener stays open. */
  dropConnections(): Promise<void>;
  /** Asks every bound client to unbind. */
  unbindAll(): void;
  /** Stops reading on present and future connections, like a silent carrier, until `resumeReads`. */
  pauseReads(): void;
  resumeReads(): void;
  /** Closes the listener, so that new connections are refused; open ones stay. */
  refuseConnections(): void;
  /** Listens again on the same port. */
  acceptConnections(): Promise<void>;
  /** Closes every connection and the listener, and writes the ledger to its file. Further calls do nothing. */
  close(): Promise<void>;
};

/** The interval between checks of timeouts: a tenth of the shortest timeout, within these bounds. */
const SWEEP_MS = { min: 20, max: 250 };

/**
 * Starts a simulated carrier for tests, benches and first steps: an SMPP 3.4 server that behaves as its script defines,
 * validates its client more strictly than most carriers, and keeps a ledger of all submits, responses and deliveries.
 * Rejects when the port is not available.
 */
export async function startSandboxSmsc(options: SandboxOptions = {}): Promise<SandboxSmsc> {
  const { host = '127.0.0.1', port = 0, tls: certificate, ledger: keep = 'entries', ledgerFile, ...changes } = options;
  const script: SandboxScript = { ...defaultScript(), ...changes };
  const ledger = createLedger({ keep, file: ledgerFile });
  const core = createCore(script, ledger);
  const server = certificate ? tls.createServer(certificate, core.connected) : net.createServer(core.connected);
  const listener = await createListener(server, host, port);
  let sweeper = setTimeout(sweep, SWEEP_MS.min);

  /** Calculates the interval each time, since the script may have changed. */
  function sweep(): void {
    core.sweep();
    const { bindTimeoutMs, enquireMs, idleMs, retryMs } = script;
    const shortestMs = Math.min(bindTimeoutMs, enquireMs, idleMs, retryMs);
    sweeper = setTimeout(sweep, Math.min(SWEEP_MS.max, Math.max(SWEEP_MS.min, shortestMs / 10)));
  }

  async function dropConnections(): Promise<void> {
    for (const session of core.sessions()) session.destroy();
    await listener.drop();
  }

  async function close(): Promise<void> {
    clearTimeout(sweeper);
    listener.close();
    await dropConnections();
    core.stop();
    ledger.close();
  }

  return {
    port: listener.port,
    ledger,
    script,
    sessions: () => core.sessions().map(viewOf),
    waiting: core.waiting,
    scheduled: core.scheduled,
    injectMo: core.injectMo,
    resume: core.resume,
    dropConnections,
    unbindAll: () => core.sessions().forEach((session) => session.unbind()),
    pauseReads: () => core.holdReads(true),
    resumeReads: () => core.holdReads(false),
    refuseConnections: listener.close,
    acceptConnections: listener.open,
    close,
  };
}

function viewOf({ id, account, mode, unanswered, taken }: Session): SessionView {
  return { id, systemId: account?.systemId ?? null, mode, unanswered, taken };
}
