import net from 'node:net';
import { withSequence } from '../../src/carriers/smpp/deliver-frame.ts';
import { createFrameReader } from '../../src/carriers/smpp/frames.ts';
import { decodePdu, encodePdu, type Pdu } from '../../src/carriers/smpp/pdu.ts';
import { between, type RandomSource } from '../lib/proof.ts';
import { bindBody, CUSTOMER_SAMPLES, VALID_SUBMIT } from './customer-pdus.ts';
import { fuzzedPdu, misframedPdu } from './fuzz.ts';
import { createProbe } from './probe.ts';

const MAX_BURST = 100;
const CUT_SHARE = 0.1;
const MISFRAMED_SHARE = 0.1;

/** What the attackers have done, and how the server reacted. */
export type Attack = {
  pdus: number;
  connections: number;
  bound: number;
  /** How often the server neither answered nor closed within a second. */
  wedged: number;
  slowestMs: number;
  /** The ids of messages that the server accepted. */
  readonly accepted: Set<string>;
};

export type Target = {
  readonly port: number;
  /** Null for a stranger, who does not bind. */
  readonly credential: { readonly systemId: string; readonly password: string } | null;
  /** The address to connect from. */
  readonly from: string;
};

/** Connects once, binds unless it is a stranger, and sends broken PDUs until the connection has ended or `isOver`. */
export async function attackOnce(
  chance: RandomSource,
  attack: Attack,
  { port, credential, from }: Target,
  isOver: () => boolean,
): Promise<void> {
  const socket = net.connect({ port, host: '127.0.0.1', localAddress: from });
  const reader = createFrameReader();
  const bound = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const probe = createProbe(chance, socket);
  attack.connections++;

  function receive(pdu: Pdu): void {
    if (pdu.command === 'bind_transceiver_resp') {
      if (pdu.status === 0) attack.bound++;
      bound.resolve();
    }
    if (pdu.command === 'submit_sm_resp' || pdu.command === 'data_sm_resp')
      if (pdu.status === 0) attack.accepted.add(pdu.messageId);
    if (pdu.command === 'submit_sm_resp') answered.resolve();
    if (pdu.command === 'enquire_link_resp') probe.heard(pdu.sequence);
    if (pdu.command === 'generic_nack') probe.heard('nack');
  }

  function burst(): void {
    const count = between(chance, 1, MAX_BURST);
    attack.pdus += count;
    const frame = (): Buffer => fuzzedPdu(chance, between(chance, 1, 0x7fffffff), CUSTOMER_SAMPLES);
    socket.write(Buffer.concat(Array.from({ length: count }, frame)));
  }

  socket.on('error', () => undefined);
  socket.once('close', () => {
    probe.heard('close');
    bound.resolve();
    answered.resolve();
  });
  socket.on('data', (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) {
      const pdu = decodePdu(frame);
      if (!('failure' in pdu)) receive(pdu);
    }
  });

  if (credential) {
    const body = bindBody(credential.systemId, credential.password);
    socket.write(encodePdu({ command: 'bind_transceiver', status: 0, sequence: 1, ...body }));
    await bound.promise;
    // What is accepted must be stored, and of broken PDUs hardly one is accepted.
    if (!socket.destroyed) socket.write(withSequence(Buffer.from(VALID_SUBMIT), 2));
    await answered.promise;
  }
  while (!isOver() && !socket.destroyed) {
    burst();
    if (chance.random.chance(CUT_SHARE)) break;
    if (chance.random.chance(MISFRAMED_SHARE)) socket.write(misframedPdu(chance, CUSTOMER_SAMPLES));
    const begun = performance.now();
    const isAlive = await probe.answersOrCloses();
    attack.slowestMs = Math.max(attack.slowestMs, Math.round(performance.now() - begun));
    if (!isAlive) {
      attack.wedged++;
      break;
    }
  }
  socket.destroy();
}
