import net from 'node:net';
import tls from 'node:tls';
import { createCore } from './core.ts';
import type { InboundMessage } from './inbound.ts';
import { createLedger, type Ledger, type LedgerOptions } from './ledger.ts';
import { createListener } from './listener.ts';
import type { OwedMessage } from './resume.ts';
import { defaultScript, type SandboxScript } from './script.ts';
import type { BindMode, Session } from './session.ts';

export type SandboxOptions = Partial<SandboxScript> & {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** With it the sandbox speaks TLS and nothing else. PEM texts. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Default `entries`. */
  readonly ledger?: LedgerOptions['keep'];
  /** Path of a file that every entry of the ledger is appended to. */
  readonly ledgerFile?: string | undefined;
};

export type SessionView = {
  readonly id: number;
  /** Null until it has bound. */
  readonly systemId: string | null;
  readonly mode: BindMode | null;
  readonly unanswered: number;
  readonly taken: number;
};

export type SandboxSmsc = {
  readonly port: number;
  readonly ledger: Ledger;
  /** May be changed at any time; counts from the next PDU on. */
  readonly script: SandboxScript;
  /** Connections that are open, bound or not. */
  sessions(): SessionView[];
  /** deliver_sm that wait for a session, a window or a repetition. */
  waiting(): number;
  /** Messages whose next state, with its receipt, is yet to come. */
  scheduled(): number;
  /**
   * Sends a message from a handset, in parts when it is long. Resolves when the client has answered every part (or the
   * sandbox has given it up) with the number of parts and of those acknowledged. Throws when no account ever bound.
   */
  injectMo(inbound: InboundMessage): Promise<{ readonly parts: number; readonly acked: number }>;
  /**
   * Takes over messages that a sandbox before this one took: plans their receipts as for a submit of this moment. They
   * wait for a session of their account.
   */
  resume(owed: readonly OwedMessage[]): void;
  /** Cuts every connection without a word. The listener stays. */
  dropConnections(): Promise<void>;
  /** Asks every bound client to unbind. */
  unbindAll(): void;
  /** Reads nothing any more, on present and future connections: a silent carrier. `resumeReads` ends it. */
  pauseReads(): void;
  resumeReads(): void;
  /** Closes the listener: new connections are refused. Open ones stay. */
  refuseConnections(): void;
  /** Listens again on the same port. */
  acceptConnections(): Promise<void>;
  /** Cuts every connection, closes the listener and brings the ledger to its file. Another call does nothing. */
  close(): Promise<void>;
};

/** How late a clock of a session may strike: a tenth of the shortest, within these bounds. */
const SWEEP_MS = { least: 20, most: 250 };

/**
 * A carrier for tests, benches and first steps: an SMPP 3.4 server that behaves as its script says, checks its client
 * harder than most carriers do, and keeps a ledger of what it took, answered and delivered.
 * Rejects when the port cannot be had.
 */
export async function startSandboxSmsc(options: SandboxOptions = {}): Promise<SandboxSmsc> {
  const { host = '127.0.0.1', port = 0, tls: certificate, ledger: keep = 'entries', ledgerFile, ...changes } = options;
  const script: SandboxScript = { ...defaultScript(), ...changes };
  const ledger = createLedger({ keep, file: ledgerFile });
  const core = createCore(script, ledger);
  const server = certificate ? tls.createServer(certificate, core.connected) : net.createServer(core.connected);
  const listener = await createListener(server, host, port);
  let sweeper = setTimeout(sweep, SWEEP_MS.least);

  /** The script may have changed since the last time. */
  function sweep(): void {
    core.sweep();
    const { bindTimeoutMs, enquireMs, idleMs, retryMs } = script;
    const shortestMs = Math.min(bindTimeoutMs, enquireMs, idleMs, retryMs);
    sweeper = setTimeout(sweep, Math.min(SWEEP_MS.most, Math.max(SWEEP_MS.least, shortestMs / 10)));
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
