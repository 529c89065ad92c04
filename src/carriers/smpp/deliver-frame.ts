import { decodePdu, encodePdu, type Message } from './pdu.ts';
import { NO_TLVS } from './tlv.ts';

const SEQUENCE_OFFSET = 12;

/**
 * Encodes a deliver_sm without its sequence number, once: it needs less memory while it waits and is cheap to repeat.
 */
export function deliverFrame(message: Message): Buffer {
  return encodePdu({ ...message, command: 'deliver_sm', status: 0, sequence: 0 });
}

/** Writes the sequence number into the frame and returns the same frame. */
export function withSequence(frame: Buffer, sequence: number): Buffer {
  frame.writeUInt32BE(sequence, SEQUENCE_OFFSET);
  return frame;
}

/** Returns a copy without optional parameters, for clients that bound with an interface_version below 0x34. */
export function withoutTlvs(frame: Buffer): Buffer {
  const pdu = decodePdu(frame);
  return 'command' in pdu && pdu.command === 'deliver_sm' ? encodePdu({ ...pdu, tlvs: NO_TLVS }) : frame;
}
