import { COMMAND, EMPTY_MESSAGE, encodePdu, type Pdu } from '../../src/carriers/smpp/pdu.ts';
import { receiptText } from '../../src/carriers/smpp/receipts.ts';
import { NO_TLVS } from '../../src/carriers/smpp/tlv.ts';
import { between, type RandomSource, oneOf } from '../lib/proof.ts';

const HEADER_BYTES = 16;
const LENGTH_OFFSET = 0;
const COMMAND_OFFSET = 4;
const SEQUENCE_OFFSET = 12;
const MAX_BYTES = 70_000;

const message = {
  ...EMPTY_MESSAGE,
  sourceTon: 1,
  sourceNpi: 1,
  source: '393331234567',
  destTon: 5,
  destNpi: 0,
  destination: 'Acme',
};
const receipt = receiptText({
  id: '1234567890',
  submittedAt: new Date(0),
  doneAt: new Date(60_000),
  stat: 'DELIVRD',
  err: '000',
  text: 'Hello',
});
const head = { status: 0, sequence: 1 };

/** Valid PDUs of a carrier, which the mutations start from. */
const SAMPLES: readonly Buffer[] = (
  [
    { command: 'deliver_sm', ...head, ...message, shortMessage: Buffer.from('Hello') },
    { command: 'deliver_sm', ...head, ...message, esmClass: 4, shortMessage: Buffer.from(receipt) },
    {
      command: 'deliver_sm',
      ...head,
      ...message,
      esmClass: 0x40,
      shortMessage: Buffer.from('0500034202014142', 'hex'),
    },
    {
      command: 'deliver_sm',
      ...head,
      ...message,
      dataCoding: 8,
      shortMessage: new Uint8Array(),
      tlvs: new Map([[0x0424, Buffer.alloc(200, 'ab')]]),
    },
    { command: 'submit_sm_resp', ...head, messageId: 'id-1', tlvs: NO_TLVS },
    { command: 'submit_sm_resp', ...head, status: 0x58, messageId: '', tlvs: NO_TLVS },
    { command: 'bind_transceiver_resp', ...head, systemId: 'PEER', tlvs: NO_TLVS },
    { command: 'enquire_link', ...head },
    { command: 'enquire_link_resp', ...head },
    { command: 'generic_nack', ...head, status: 3 },
    { command: 'unbind_resp', ...head },
  ] satisfies Pdu[]
).map(encodePdu);

const COMMAND_IDS = Object.values(COMMAND);
/** An unbind ends the session properly: it is sent, but not in every burst. */
const UNBIND_SHARE = 0.001;

const randomBytes = (chance: RandomSource, count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, () => between(chance, 0, 255)));

type Mutation = (frame: Buffer, chance: RandomSource) => Buffer;

/** Each breaks a PDU in another way and leaves the length field for later. */
const MUTATIONS: readonly Mutation[] = [
  (frame, chance) => {
    for (let count = between(chance, 1, 8); count > 0; count--)
      frame[between(chance, COMMAND_OFFSET, frame.length - 1)] = between(chance, 0, 255);
    return frame;
  },
  (frame, chance) => frame.subarray(0, between(chance, HEADER_BYTES, frame.length)),
  (frame, chance) => Buffer.concat([frame, randomBytes(chance, between(chance, 1, 300))]),
  // Texts without a terminator.
  (frame) => {
    for (let at = HEADER_BYTES; at < frame.length; at++) frame[at] ||= 0x41;
    return frame;
  },
  // An optional parameter whose length is larger or smaller than what follows.
  (frame, chance) => {
    const tlv = randomBytes(chance, between(chance, 4, 40));
    tlv.writeUInt16BE(oneOf(chance, [0x001e, 0x0427, 0x0424, 0x020c, between(chance, 0, 0xffff)]), 0);
    tlv.writeUInt16BE(oneOf(chance, [0, tlv.length - 4, tlv.length, 0xffff]), 2);
    return Buffer.concat([frame, tlv]);
  },
  // The body of another command.
  (frame, chance) => {
    frame.writeUInt32BE(oneOf(chance, COMMAND_IDS), COMMAND_OFFSET);
    return frame;
  },
  (frame, chance) => Buffer.concat([frame.subarray(0, HEADER_BYTES), randomBytes(chance, between(chance, 0, 200))]),
  (frame) => frame,
];

/** Returns one of these PDUs, by default of a carrier, with one or two mutations, or none, and a correct length field. */
export function fuzzedPdu(chance: RandomSource, sequence: number, samples = SAMPLES): Buffer {
  let frame: Buffer = Buffer.from(oneOf(chance, samples));
  frame.writeUInt32BE(sequence >>> 0, SEQUENCE_OFFSET);
  for (let count = between(chance, 1, 2); count > 0; count--) frame = oneOf(chance, MUTATIONS)(frame, chance);
  if (frame.readUInt32BE(COMMAND_OFFSET) === COMMAND.unbind && !chance.random.chance(UNBIND_SHARE))
    frame.writeUInt32BE(COMMAND.deliver_sm, COMMAND_OFFSET);
  frame.writeUInt32BE(frame.length, LENGTH_OFFSET);
  return frame;
}

/** Returns a PDU after which the beginning of the next one is unknown. */
export function misframedPdu(chance: RandomSource, samples = SAMPLES): Buffer {
  const frame = fuzzedPdu(chance, between(chance, 1, 1000), samples);
  const wrong = [0, 15, MAX_BYTES + 1, 0xffffffff, between(chance, 0, 0xffffffff)];
  frame.writeUInt32BE(oneOf(chance, [...wrong, frame.length + between(chance, 1, 8)]), LENGTH_OFFSET);
  return frame;
}

/** The sequence number of a response, which may answer a request; null for a request. */
export const answeredBy = (frame: Buffer): number | null =>
  frame.readUInt32BE(COMMAND_OFFSET) >= 0x80000000 ? frame.readUInt32BE(SEQUENCE_OFFSET) : null;
