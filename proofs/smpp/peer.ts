import { once } from 'node:events';
import net from 'node:net';
import { createFrameReader } from '../../src/carriers/smpp/frames.ts';
import { decodePdu, encodePdu, type Pdu, type PduOf } from '../../src/carriers/smpp/pdu.ts';
import { NO_TLVS } from '../../src/carriers/smpp/tlv.ts';
import { waitPatiently } from '../patience.ts';
import { between, type Run } from '../proof.ts';
import { orderOf } from './client.ts';
import { answeredBy, fuzzedPdu, misframedPdu } from './fuzz.ts';

const ANSWER_WITHIN_MS = 1000;
const PROBE_AGAIN_MS = 100;
const GONE_MS = 5000;
const LOOK_MS = 10;
const MOST_A_BURST = 200;
const ANSWERED_SHARE = 0.5;
const CUT_SHARE = 0.1;
const MISFRAMED_SHARE = 0.1;
/** Of the fuzzed PDUs so many carry the number of a request that waits for its answer. */
const AIMED_SHARE = 0.02;
/** More octets than any PDU may have: whoever waits for the rest of one gets it. */
const FLOOD_OCTETS = 80_000;

/** What the peer knows of the messages that it was sent. */
export type Known = {
  /** It saw the submit. */
  readonly received: Set<number>;
  /** It sent something that may count as an answer. */
  readonly answered: Set<number>;
};

export type Attack = {
  /** PDUs sent so far. */
  readonly pdus: number;
  readonly sessions: number;
  readonly cuts: number;
  /** Times that the client neither answered nor closed within a second. */
  readonly wedged: number;
  readonly slowestMs: number;
};

export type Peer = {
  readonly port: number;
  readonly known: Known;
  readonly attack: Attack;
  /** Attacks whatever client comes until so many PDUs were sent in all. False when none has come for five seconds. */
  until(pdus: number): Promise<boolean>;
  close(): void;
};

/** A carrier gone mad: it binds its client, answers half of its submits, and sends it every kind of broken PDU. */
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
    while (attack.pdus < goal && session.open()) await strike(session);
    session.cut();
  }

  /** One burst, and whether the client is still there. */
  async function strike(session: Session): Promise<void> {
    const count = Math.min(between(run, 1, MOST_A_BURST), goal - attack.pdus);
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
      const look = () => ({ done: attack.pdus >= goal, seen: attack.pdus });
      return waitPatiently(look, { patienceMs: GONE_MS, lookMs: LOOK_MS });
    },
    close: () => void server.close(),
  };
}

type Session = ReturnType<typeof createSession>;

/** One connection of the client. */
function createSession(run: Run, socket: net.Socket, known: Known) {
  const reader = createFrameReader();
  const bound = Promise.withResolvers<void>();
  /** Submits without an answer: message by sequence number. */
  const waiting = new Map<number, number>();
  let heard: (answered: number | 'nack' | 'close') => void = () => undefined;
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
        return heard(pdu.sequence);
      case 'generic_nack':
        return heard('nack');
      default:
    }
  }

  function receiveSubmit(pdu: PduOf<'submit_sm'>): void {
    const n = orderOf(pdu.destination);
    known.received.add(n);
    if (!run.random.chance(ANSWERED_SHARE)) return void waiting.set(pdu.sequence, n);
    known.answered.add(n);
    send({ command: 'submit_sm_resp', status: 0, sequence: pdu.sequence, messageId: `id-${n}`, tlvs: NO_TLVS });
  }

  function fuzzed(): Buffer {
    const [target = 0] = run.random.chance(AIMED_SHARE) ? waiting.keys() : [];
    const frame = fuzzedPdu(run, target || between(run, 1_000_000, 0x7fffffff));
    const n = waiting.get(answeredBy(frame) ?? 0);
    if (n !== undefined) known.answered.add(n);
    return frame;
  }

  /**
   * Probes with enquire_link; when that is not answered, with so many that half a PDU before it becomes whole. Read
   * from the wrong octet on they are no PDUs, and a generic_nack is the right answer.
   */
  async function answersOrCloses(): Promise<boolean> {
    if (socket.closed) return true;
    const answer = Promise.withResolvers<boolean>();
    const probe = between(run, 1_000_000, 0x7fffffff);
    const enquiry = encodePdu({ command: 'enquire_link', status: 0, sequence: probe });
    let flooded = false;
    heard = (what) => {
      if (what === probe || what === 'close' || (what === 'nack' && flooded)) answer.resolve(true);
    };
    socket.write(enquiry);
    const again = setTimeout(() => {
      flooded = true;
      socket.write(Buffer.concat(Array.from({ length: FLOOD_OCTETS / enquiry.length }, () => enquiry)));
    }, PROBE_AGAIN_MS);
    const late = setTimeout(() => answer.resolve(false), ANSWER_WITHIN_MS);
    const result = await answer.promise;
    clearTimeout(again);
    clearTimeout(late);
    return result;
  }

  socket.on('error', () => undefined);
  socket.once('close', () => {
    heard('close');
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
      // Nobody can say what this and the rest of it read as: they may answer anything.
      for (const n of waiting.values()) known.answered.add(n);
      socket.write(misframedPdu(run));
    },
    answersOrCloses,
    cut: () => void socket.destroy(),
  };
}
