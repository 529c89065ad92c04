import { type SandboxOptions, type SandboxSmsc, startSandboxSmsc } from '../../../src/sandbox/smsc.ts';
import type { SubmitEntry } from '../../../src/sandbox/smsc-ledger.ts';
import { until } from '../until.ts';
import { type Checks, ensure } from './checks.ts';
import { COMMAND, type Relay, startRelay } from './relay.ts';

export type BindKind = 'trx' | 'tx' | 'rx' | 'tx+rx';

/** Options for the connection of a foreign client. */
export type EsmeOptions = { readonly port: number; readonly bind: BindKind; readonly window: number };

/** A foreign client of an SMSC. */
export type EsmePeer = {
  readonly name: string;
  readonly binds: readonly BindKind[];
  /** True if the peer restores a lost session without help. */
  readonly reconnects: boolean;
  /** Connects with the system_id `gw1` and the password `secret08`. */
  connect(options: EsmeOptions): Promise<EsmeSession>;
};

export type EsmeSession = {
  /** Hands over a message; resolves when the client has taken it, which may be before the SMSC has it. */
  send(destination: string, text: string): Promise<void>;
  /** Returns the destinations whose receipts said that the message was delivered. */
  delivered(): readonly string[];
  /** Unbinds and ends the client. */
  close(): Promise<void>;
};

type Link = AsyncDisposable & { readonly smsc: SandboxSmsc; readonly relay: Relay; session: EsmeSession };

const LONG = 'This text is longer than a single part of a message can hold. '.repeat(4).trim();
const UNICODE = 'Olá, São João: 你好, Ω 😀';
const MODES: Readonly<Record<BindKind, string>> = {
  trx: 'transceiver',
  tx: 'transmitter',
  rx: 'receiver',
  'tx+rx': 'receiver,transmitter',
};
const OPTIONS = { bind: 'trx', window: 10 } as const;

/** Starts the simulator and connects the foreign client to it, through a relay that sees what passes. */
async function connect(peer: EsmePeer, script: SandboxOptions = {}, options: Partial<EsmeOptions> = {}): Promise<Link> {
  const smsc = await startSandboxSmsc({ systemId: 'gw1', password: 'secret08', receiptDelayMs: 20, ...script });
  const relay = await startRelay({ host: '127.0.0.1', port: smsc.port });
  const session = await peer.connect({ ...OPTIONS, ...options, port: relay.port });
  const link: Link = {
    smsc,
    relay,
    session,
    async [Symbol.asyncDispose]() {
      await link.session.close();
      await relay.close();
      await smsc.close();
    },
  };
  return link;
}

const modesOf = (smsc: SandboxSmsc): string =>
  smsc
    .sessions()
    .flatMap(({ mode }) => mode ?? [])
    .toSorted()
    .join();

const submitsOf = ({ smsc }: Link): SubmitEntry[] =>
  smsc.ledger.entries().filter((entry): entry is SubmitEntry => entry.kind === 'submit');

/** Returns the accepted parts for a destination, joined in their order. */
const textTo = (link: Link, destination: string): string =>
  submitsOf(link)
    .filter((entry) => entry.destination === destination && entry.status === 'ESME_ROK')
    .toSorted((one, other) => (one.concat?.seq ?? 0) - (other.concat?.seq ?? 0))
    .map(({ text }) => text)
    .join('');

async function sendAndSee(link: Link, destination: string, text: string): Promise<void> {
  await link.session.send(destination, text);
  await until(`"${text}" at the SMSC`, () => textTo(link, destination) === text);
}

/** The checks of our simulated SMSC with a foreign client. */
export const ESME_CHECKS: Checks<EsmePeer> = {
  'bind kinds': async (peer) => {
    for (const bind of peer.binds) {
      await using link = await connect(peer, {}, { bind });
      await until(`a bind as ${bind}`, () => modesOf(link.smsc) === MODES[bind]);
    }
    return peer.binds.join(', ');
  },

  submit: async (peer) => {
    await using link = await connect(peer);
    await sendAndSee(link, '351912345670', 'Hello, € 5 [a]');
    return 'the text arrived as it was';
  },

  receipts: async (peer) => {
    await using link = await connect(peer);
    await link.session.send('351912345671', 'Hello');
    await until('the receipt', () => link.session.delivered().includes('351912345671'));
    return 'DELIVRD, acknowledged';
  },

  'long messages': async (peer) => {
    await using link = await connect(peer);
    await sendAndSee(link, '351912345672', LONG);
    const parts = submitsOf(link).filter(({ concat }) => concat !== null);
    ensure(parts.length === 2, `${parts.length} parts`);
    return '2 parts, joined by their user data header';
  },

  'UCS-2': async (peer) => {
    await using link = await connect(peer);
    await sendAndSee(link, '351912345673', UNICODE);
    ensure(
      submitsOf(link).every(({ dataCoding }) => dataCoding === 8),
      'data_coding is not 8',
    );
    return 'the text arrived as it was';
  },

  window: async (peer) => {
    await using link = await connect(peer, { window: 10, responseDelayMs: 5 });
    const numbers = Array.from({ length: 200 }, (_, index) => `3519300${String(index).padStart(5, '0')}`);
    await Promise.all(numbers.map((number) => link.session.send(number, 'Hello')));
    const accepted = () => submitsOf(link).filter(({ status }) => status === 'ESME_ROK');
    await until('200 messages', () => accepted().length >= 200);
    ensure(accepted().length === submitsOf(link).length, 'some submits were beyond the window');
    return '200 messages, never more than 10 open';
  },

  throttling: async (peer) => {
    // 9910: refused three times with ESME_RTHROTTLED, then accepted.
    await using link = await connect(peer);
    await sendAndSee(link, '351912349910', 'Hello');
    return `accepted at try ${submitsOf(link).length}`;
  },

  enquire_link: async (peer) => {
    await using link = await connect(peer, { enquireMs: 200 });
    await until('answers', () => link.relay.count('client', COMMAND.enquire_link_resp) >= 3);
    await sendAndSee(link, '351912345674', 'Hello');
    return 'acknowledged, and the session stayed';
  },

  reconnect: async (peer) => {
    await using link = await connect(peer);
    await sendAndSee(link, '351912345675', 'Before');
    await link.smsc.dropConnections();
    if (!peer.reconnects) link.session = await peer.connect({ ...OPTIONS, port: link.relay.port });
    await until('the next bind', () => modesOf(link.smsc) === MODES.trx);
    await sendAndSee(link, '351912345676', 'After');
    return peer.reconnects ? 'bound again by itself' : 'bound again';
  },

  unbind: async (peer) => {
    await using link = await connect(peer);
    await until('a bind', () => modesOf(link.smsc) === MODES.trx);
    await link.session.close();
    await until('unbind', () => link.relay.count('client', COMMAND.unbind) === 1);
    await until('unbind_resp', () => link.relay.count('server', COMMAND.unbind_resp) === 1);
    return 'acknowledged with unbind_resp';
  },
};
