import type { Socket } from 'node:net';
import type { Message } from '../../carriers/smpp/pdu.ts';
import { type Account, createAccounts } from './account.ts';
import { type InboundMessage, inboundMessages } from './inbound.ts';
import { deliverFrame } from '../../carriers/smpp/deliver-frame.ts';
import type { LedgerWriter } from './ledger.ts';
import { createMessageIds } from './message-ids.ts';
import { createRandom } from './random.ts';
import { createReceiptPlanner } from './receipts.ts';
import { type OwedMessage, owedMessage } from './resume.ts';
import type { SandboxScript } from './script.ts';
import { createSession, type Services, type Session } from './session.ts';
import { createMessageStore } from './stored.ts';
import { createSubmitDesk } from './submit.ts';

/** The simulated carrier behind the listener: its sessions, accounts and messages. */
export type Core = {
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
export function createCore(script: SandboxScript, ledger: LedgerWriter): Core {
  const random = createRandom(script.seed);
  const accounts = createAccounts(script, ledger);
  const store = createMessageStore(script, ledger);
  const receipts = createReceiptPlanner({ script, ledger, random, account: accounts.get });
  const nextId = createMessageIds(script);
  const desk = createSubmitDesk({ script, ledger, random, store, receipts, nextId });
  const sessions = new Set<Session>();
  let connections = 0;
  let references = 0;
  let held = false;

  const services: Services = {
    script,
    ledger,
    account: accounts.get,
    submit: desk.submit,
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
      desk.stop();
      receipts.stop();
      for (const account of accounts.all()) account.outbox.stop();
    },
  };
}
