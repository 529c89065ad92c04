import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { createListener, deliverFrame } from '../smpp/link.ts';
import { EMPTY_MESSAGE, type Message } from '../smpp/pdu.ts';
import type { BindMode } from '../smpp/session.ts';
import { type Account, createAccounts } from './smsc-account.ts';
import type { LedgerOptions } from './ledger.ts';
import {
  createLedger,
  createMessageIds,
  createMessageStore,
  ENROUTE,
  type Ledger,
  type LedgerWriter,
  type StoredMessage,
} from './smsc-ledger.ts';
import { createRandom, defaultScript, outcomeFor, type SandboxScript } from './smsc-script.ts';
import { createSession, type Services, type Session } from './smsc-session.ts';
import { createReceiptPlanner, createSubmitHandler, type InboundMessage, inboundMessages } from './smsc-submit.ts';

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
type SessionView = {
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
    const { bindTimeoutMs, enquireMs, retryMs } = script;
    const shortestMs = Math.min(bindTimeoutMs, enquireMs, retryMs);
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

/** The simulated carrier behind the listener: its sessions, accounts and messages. */
type Core = {
  /** Starts a session on a new connection. */
  connected(socket: Socket): void;
  sessions(): readonly Session[];
  /** Returns the number of deliver_sm that wait for a session, a window or a repetition. */
  waiting(): number;
  /** Returns the number of messages whose next state is not due yet. */
  scheduled(): number;
  injectMo(inbound: InboundMessage): Promise<{ readonly parts: number; readonly acked: number }>;
  resume(owed: readonly OwedMessage[]): void;
  /** Stops or resumes reading on all present and future connections. */
  holdReads(held: boolean): void;
  /** Checks the timeouts of every session: bind, idle, unanswered deliver_sm. */
  sweep(): void;
  stop(): void;
};

/** Creates the simulated carrier; the listener passes it the connections. */
function createCore(script: SandboxScript, ledger: LedgerWriter): Core {
  const random = createRandom(script.seed);
  const accounts = createAccounts(script, ledger);
  const store = createMessageStore(script, ledger);
  const receipts = createReceiptPlanner({ script, ledger, random, account: accounts.get });
  const nextId = createMessageIds(script);
  const submits = createSubmitHandler({ script, ledger, random, store, receipts, nextId });
  const sessions = new Set<Session>();
  let connections = 0;
  let references = 0;
  let held = false;

  const services: Services = {
    script,
    ledger,
    account: accounts.get,
    submit: submits.submit,
    refused: submits.refused,
    query: store.query,
    cancel: store.cancel,
    replace: store.replace,
    closed: (session) => void sessions.delete(session),
  };

  function connected(socket: Socket): void {
    const session = createSession(++connections, socket, services);
    sessions.add(session);
    if (held) session.hold(true);
  }

  async function injectMo(inbound: InboundMessage): Promise<{ parts: number; acked: number }> {
    const account = inbound.systemId === undefined ? accounts.lastBound() : accounts.get(inbound.systemId);
    if (!account) throw new Error('no account has bound: set systemId');
    const messages = inboundMessages(inbound, inbound.ref ?? references++ % 0x10000);
    const acks = await Promise.all(messages.map((message) => deliver(account, message, inbound.text)));
    return { parts: messages.length, acked: acks.filter(Boolean).length };
  }

  function deliver({ systemId, outbox }: Account, message: Message, text: string): Promise<boolean> {
    const { source, destination } = message;
    const details = { systemId, receiptId: '', id: '', text, source, destination };
    const entry = ledger.recordDelivery('inbound', () => details);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    outbox.add({ kind: 'inbound', frame: deliverFrame(message), entry, failures: 0, settled: resolve });
    return promise;
  }

  return {
    connected,
    sessions: () => [...sessions],
    waiting: () => accounts.all().reduce((sum, account) => sum + account.outbox.waiting(), 0),
    scheduled: receipts.scheduled,
    injectMo,
    resume(owed) {
      for (const one of owed) {
        const stored = owedMessage(one, script);
        store.add(stored);
        receipts.plan(stored);
      }
    },
    holdReads(value) {
      held = value;
      for (const session of sessions) session.hold(held);
    },
    sweep() {
      for (const session of sessions) session.sweep();
    },
    stop() {
      submits.stop();
      receipts.stop();
      for (const account of accounts.all()) account.outbox.stop();
    },
  };
}

/** A message that an earlier simulator accepted and for which it still owes receipts. */
export type OwedMessage = {
  readonly systemId: string;
  /** The message id as spelled in the response. */
  readonly id: string;
  readonly source: string;
  /** Digits without a plus sign. */
  readonly destination: string;
  readonly acceptedAt: Date;
};

/**
 * Returns the message as this simulator would have stored it, but without its text, which its receipts do not quote.
 */
function owedMessage(
  { systemId, id, source, destination, acceptedAt }: OwedMessage,
  script: SandboxScript,
): StoredMessage {
  return {
    systemId,
    // Without a number, so that the receipt spells the id like the response.
    id: { text: id, number: 0 },
    message: { ...EMPTY_MESSAGE, source, destination, registeredDelivery: 1 },
    outcome: outcomeFor(script, destination),
    acceptedAt: acceptedAt.getTime(),
    current: ENROUTE,
    doneAt: acceptedAt.getTime(),
  };
}
