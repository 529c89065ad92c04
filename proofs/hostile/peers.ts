import { once } from 'node:events';
import net from 'node:net';
import { createFrameReader } from '../../src/smpp/link.ts';
import { decodePdu, EMPTY_MESSAGE, encodePdu, type Pdu } from '../../src/smpp/pdu.ts';
import { NO_TLVS } from '../../src/smpp/wire.ts';
import type { Peers } from './attack.ts';
import { everyTick } from './requests.ts';

/** Kinds of misbehaviour of a carrier. `mute` is the one that never responds to a message. */
export const PEER_MANNERS = [
  'random bytes',
  'huge lengths',
  'drip',
  'close',
  'messages',
  'receipts',
  'answers',
  'mute',
] as const;
export type PeerManner = (typeof PEER_MANNERS)[number];

/** A carrier that the attacker runs. Until it turns, it accepts binds and responds. */
type Peer = {
  readonly port: number;
  readonly manner: PeerManner;
  turn: (over: AbortSignal, onSent: () => void) => Promise<void>;
};

const TICK_MS = 50;
const PER_TICK = 50;
const BURST_BYTES = 60_000;

/** Starts one carrier for each manner. */
export async function startPeers(): Promise<Peers & { readonly ports: Readonly<Record<string, number>> }> {
  const peers = await Promise.all(PEER_MANNERS.map(startPeer));
  return {
    ports: Object.fromEntries(peers.map(({ manner, port }) => [manner, port])),
    async turn(name, over, onSent) {
      await peers.find(({ manner }) => manner === name)?.turn(over, onSent);
    },
  };
}

async function startPeer(manner: PeerManner): Promise<Peer> {
  const bound = new Set<net.Socket>();
  const makeOctets = createMaker(manner);
  let onBind = (_socket: net.Socket): void => undefined;
  const server = net.createServer((socket) => {
    serve(socket, manner, () => {
      bound.add(socket);
      onBind(socket);
    });
    socket.once('close', () => bound.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  return {
    port: address.port,
    manner,
    async turn(over, onSent) {
      const attack = (socket: net.Socket): void => {
        if (socket.writableNeedDrain) return;
        onSent();
        if (manner === 'close') socket.destroy();
        else socket.write(makeOctets());
      };
      onBind = attack;
      await everyTick(TICK_MS, over, () => bound.forEach(attack));
      onBind = () => undefined;
      // What it sent may be incomplete, so that nothing of this connection can be read any more.
      for (const socket of bound) socket.destroy();
    },
  };
}

/** Responds as a carrier does; the one that is mute responds to everything but messages. */
function serve(socket: net.Socket, manner: PeerManner, onBound: () => void): void {
  const reader = createFrameReader();
  const send = (pdu: Pdu): void => void socket.write(encodePdu(pdu));
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) {
      const pdu = decodePdu(frame);
      if ('failure' in pdu) continue;
      const { sequence } = pdu;
      if (pdu.command === 'bind_transceiver') {
        send({ command: 'bind_transceiver_resp', status: 0, sequence, systemId: 'PEER', tlvs: NO_TLVS });
        onBound();
      } else if (pdu.command === 'submit_sm' && manner !== 'mute')
        send({ command: 'submit_sm_resp', status: 0, sequence, messageId: `peer-${sequence}`, tlvs: NO_TLVS });
      else if (pdu.command === 'enquire_link' || pdu.command === 'unbind')
        send({ command: `${pdu.command}_resp`, status: 0, sequence });
    }
  });
}

/** Returns a function that makes the next bytes of this manner. */
function createMaker(manner: PeerManner): () => Buffer {
  let sequence = 0;
  const next = (): number => (sequence = (sequence % 0x7fff_fff0) + 1);
  switch (manner) {
    case 'random bytes':
      return () => Buffer.from(Array.from({ length: BURST_BYTES }, (_, i) => (i * 7919 + next()) & 255));
    case 'huge lengths':
      return () => Buffer.concat([Buffer.from('ffffffff0000000500000000', 'hex'), Buffer.alloc(BURST_BYTES)]);
    case 'drip':
      // The first four bytes are the length of a PDU that takes an hour to arrive.
      return () => Buffer.from([LONG_PDU[next() - 1] ?? 0]);
    case 'messages':
      return () => many(() => ({ ...deliver(next()), shortMessage: Buffer.from('STOP and go') }));
    case 'receipts':
      return () => many(() => ({ ...deliver(next()), esmClass: 4, shortMessage: unknownReceipt(sequence) }));
    case 'answers':
      return () =>
        many(() => ({ command: 'submit_sm_resp', status: 0, sequence: next(), messageId: 'unasked', tlvs: NO_TLVS }));
    default:
      return () => Buffer.alloc(0);
  }
}

const LONG_PDU = [0, 1, 0, 0];

const unknownReceipt = (n: number): Buffer =>
  Buffer.from(
    `id:hostile-${n} sub:001 dlvrd:001 submit date:2611220900 done date:2611220900 stat:DELIVRD err:000 text:x`,
  );

const many = (make: () => Pdu): Buffer => Buffer.concat(Array.from({ length: PER_TICK }, () => encodePdu(make())));

const deliver = (sequence: number) =>
  ({
    command: 'deliver_sm',
    status: 0,
    sequence,
    ...EMPTY_MESSAGE,
    source: '393331234567',
    destination: '4477',
  }) as const;
