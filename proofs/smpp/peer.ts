import { once } from 'node:events';
import net from 'node:net';
import { createFrameReader } from '../../src/carriers/smpp/frames.ts';
import { decodePdu, encodePdu, type Pdu, type PduOf } from '../../src/carriers/smpp/pdu.ts';
import { NO_TLVS } from '../../src/carriers/smpp/tlv.ts';
import { pollUntilDone } from '../lib/poll.ts';
import { between, type Run } from '../lib/proof.ts';
import { indexOf } from './client.ts';
import { answeredBy, fuzzedPdu, misframedPdu } from './fuzz.ts';
import { createProbe } from './probe.ts';

const GONE_AFTER_MS = 5000;
const POLL_MS = 10;
const MAX_BURST = 200;
const ANSWERED_SHARE = 0.5;
const CUT_SHARE = 0.1;
const MISFRAMED_SHARE = 0.1;
/** The share of fuzzed PDUs that carry the sequence number of an unanswered request. */
const TARGETED_SHARE = 0.02;

/** What the peer knows of the messages that it was sent. */
export type Known = {
  /** The numbers of messages whose submit it saw. */
  readonly received: Set<number>;
  /** The numbers of messages to which it sent something that may count as an answer. */
  readonly answered: Set<number>;
};

/** What the peer has done so far, and how the client reacted. */
export type Attack = {
  /** The number of PDUs sent. */
  readonly pdus: number;
  readonly sessions: number;
  readonly cuts: number;
  /** How often the client neither answered nor closed within a second. */
  readonly wedged: number;
  readonly slowestMs: number;
};

/** A hostile SMPP server. */
export type Peer = {
  readonly port: number;
  readonly known: Known;
  readonly attack: Attack;
  /**
   * Attacks every client that connects until this many PDUs were sent in all. Returns false if none has connected for
   * five seconds.
   */
  until(pdus: number): Promise<boolean>;
  close(): void;
};

/**
 * Starts a hostile carrier: it binds its client, answers half of its submits, and sends it every kind of broken PDU.
 */
export async function startPeer(run: Run): Promise<Peer> {
  const known: Known = { received: new Set(), answered: new Set() };
  const attack = { pdus: 0, sessions: 0, cuts: 0, wedged: 0, slowestMs: 0 };
  let goal = 0;
  const server = net.createServer((socket) => void serve(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');

  async function serve(socket: net.Socket): Promise<void> {
    attack.sessions++;
    const session = createSession(run, socket, known);
    await session.bound;
    while (attack.pdus < goal && session.open()) await attackOnce(session);
    session.cut();
  }

  /** Sends one burst, and checks whether the client is still there. */
  async function attackOnce(session: Session): Promise<void> {
    const count = Math.min(between(run, 1, MAX_BURST), goal - attack.pdus);
    session.burst(count);
    attack.pdus += count;
    if (run.random.chance(CUT_SHARE)) {
      attack.cuts++;
      return session.cut();
    }
    if (run.random.chance(MISFRAMED_SHARE)) session.misframe();
    const start = performance.now();
    const alive = await session.answersOrCloses();
    attack.slowestMs = Math.max(attack.slowestMs, Math.round(performance.now() - start));
    if (alive) return;
    attack.wedged++;
    session.cut();
  }

  return {
    port: address.port,
    known,
    attack,
    until(pdus) {
      goal = pdus;
      const poll = () => ({ done: attack.pdus >= goal, progress: attack.pdus });
      return pollUntilDone(poll, { stallTimeoutMs: GONE_AFTER_MS, pollMs: POLL_MS });
    },
    close: () => void server.close(),
  };
}

type Session = ReturnType<typeof createSession>;

/** Serves one connection of the client. */
function createSession(run: Run, socket: net.Socket, known: Known) {
  const reader = createFrameReader();
  const bound = Promise.withResolvers<void>();
  /** Message number by sequence number, for submits without an answer. */
  const waiting = new Map<number, number>();
  const probe = createProbe(run, socket);
  const send = (pdu: Pdu): void => void socket.write(encodePdu(pdu));

  function receive(pdu: Pdu): void {
    switch (pdu.command) {
      case 'bind_transceiver':
        send({ command: 'bind_transceiver_resp', status: 0, sequence: pdu.sequence, systemId: 'PEER', tlvs: NO_TLVS });
        return bound.resolve();
      case 'submit_sm':
        return receiveSubmit(pdu);
      case 'unbind':
      case 'enquire_link':
        return send({ command: `${pdu.command}_resp`, status: 0, sequence: pdu.sequence });
      case 'enquire_link_resp':
        return probe.heard(pdu.sequence);
      case 'generic_nack':
        return probe.heard('nack');
      default:
    }
  }

  function receiveSubmit(pdu: PduOf<'submit_sm'>): void {
    const n = indexOf(pdu.destination);
    known.received.add(n);
    if (!run.random.chance(ANSWERED_SHARE)) return void waiting.set(pdu.sequence, n);
    known.answered.add(n);
    send({ command: 'submit_sm_resp', status: 0, sequence: pdu.sequence, messageId: `id-${n}`, tlvs: NO_TLVS });
  }

  function fuzzed(): Buffer {
    const [target = 0] = run.random.chance(TARGETED_SHARE) ? waiting.keys() : [];
    const frame = fuzzedPdu(run, target || between(run, 1_000_000, 0x7fffffff));
    const n = waiting.get(answeredBy(frame) ?? 0);
    if (n !== undefined) known.answered.add(n);
    return frame;
  }

  socket.on('error', () => undefined);
  socket.once('close', () => {
    probe.heard('close');
    bound.resolve();
  });
  socket.on('data', (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) {
      const pdu = decodePdu(frame);
      if (!('failure' in pdu)) receive(pdu);
    }
  });

  return {
    bound: bound.promise,
    open: () => !socket.destroyed,
    burst: (count: number) => void socket.write(Buffer.concat(Array.from({ length: count }, fuzzed))),
    misframe() {
      // The rest of the stream may be read as anything, so it may answer any request.
      for (const n of waiting.values()) known.answered.add(n);
      socket.write(misframedPdu(run));
    },
    answersOrCloses: probe.answersOrCloses,
    cut: () => void socket.destroy(),
  };
}
