import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { createFrameReader } from '../../../src/smpp/link.ts';
import { COMMAND, decodePdu, EMPTY_MESSAGE, encodePdu, type Pdu, type PduOf } from '../../../src/smpp/pdu.ts';
import { NO_TLVS } from '../../../src/smpp/wire.ts';

/** One client connection of the peer. */
export type Link = {
  /** Every PDU from the client, in order. */
  readonly received: Pdu[];
  send(pdu: Pdu): void;
  /** Writes octets; resolves when the kernel has taken them, or when it never can. */
  raw(octets: Uint8Array): Promise<void>;
  /** Stops or resumes reading the socket. */
  pause(paused: boolean): void;
  cut(): void;
};

/** Returns true when it has handled the request; otherwise the peer responds like a friendly carrier. */
export type Script = (pdu: Pdu, link: Link) => boolean;

export type ScriptedPeer = {
  readonly port: number;
  readonly links: readonly Link[];
  script: Script;
  /** Returns every submit_sm, link by link in order of arrival. */
  submits(): PduOf<'submit_sm'>[];
  close(): Promise<void>;
};

/**
 * Starts a carrier for tests on the loopback interface, which is friendly unless the script makes it hostile. In contrast
 * to the simulator it has no rules, so that a test can make it break any.
 */
export async function startScriptedPeer(
  options: { script?: Script; port?: number; tls?: { key: string; cert: string } } = {},
): Promise<ScriptedPeer> {
  const links: Link[] = [];
  const server = options.tls ? tls.createServer(options.tls) : net.createServer();
  const sockets = new Set<net.Socket>();
  const peer = { script: options.script ?? (() => false) };

  server.on(options.tls ? 'secureConnection' : 'connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    links.push(serve(socket, (pdu, link) => peer.script(pdu, link)));
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the peer has no port');

  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }

  const submits = () => links.flatMap((link) => link.received.filter((pdu) => pdu.command === 'submit_sm'));
  return Object.assign(peer, { port: address.port, links, submits, close });
}

function serve(socket: net.Socket, script: Script): Link {
  const reader = createFrameReader();
  const received: Pdu[] = [];
  const raw = (octets: Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      if (socket.writable) socket.write(octets, () => resolve());
      else resolve();
    });
  const link: Link = {
    received,
    raw,
    send: (pdu) => void raw(encodePdu(pdu)),
    pause: (paused) => (paused ? socket.pause() : socket.resume()),
    cut: () => socket.destroy(),
  };
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) {
      const pdu = decodePdu(frame);
      if ('failure' in pdu) throw new Error(`the client sent an invalid PDU: ${pdu.reason}`);
      received.push(pdu);
      if (COMMAND[pdu.command] < 0x80000000 && !script(pdu, link)) answerFriendly(pdu, link);
    }
  });
  return link;
}

function answerFriendly(pdu: Pdu, link: Link): void {
  const { sequence } = pdu;
  switch (pdu.command) {
    case 'bind_transceiver':
    case 'bind_transmitter':
    case 'bind_receiver':
      return link.send({ command: `${pdu.command}_resp`, status: 0, sequence, systemId: 'PEER', tlvs: NO_TLVS });
    case 'enquire_link':
    case 'unbind':
      return link.send({ command: `${pdu.command}_resp`, status: 0, sequence });
    case 'submit_sm':
      return link.send(accept(pdu, `id-${sequence}`));
    default:
  }
}

/** Builds the response that accepts a submit. */
export function accept(pdu: Pdu, messageId: string): Pdu {
  return { command: 'submit_sm_resp', status: 0, sequence: pdu.sequence, messageId, tlvs: NO_TLVS };
}

/** Builds the response that refuses a submit. */
export function refuse(pdu: Pdu, status: number): Pdu {
  return { command: 'submit_sm_resp', status, sequence: pdu.sequence, messageId: '', tlvs: NO_TLVS };
}

export function isBind(pdu: Pdu): boolean {
  return pdu.command === 'bind_transceiver' || pdu.command === 'bind_transmitter' || pdu.command === 'bind_receiver';
}

/** Builds a deliver_sm from a handset; with a suitable `esmClass` it is a receipt. */
export function delivery(sequence: number, text: string, more: Partial<PduOf<'deliver_sm'>> = {}): PduOf<'deliver_sm'> {
  return {
    command: 'deliver_sm',
    status: 0,
    sequence,
    ...EMPTY_MESSAGE,
    sourceTon: 1,
    sourceNpi: 1,
    source: '351912345678',
    destTon: 5,
    destNpi: 0,
    destination: 'ACME',
    shortMessage: Buffer.from(text, 'latin1'),
    ...more,
  };
}
