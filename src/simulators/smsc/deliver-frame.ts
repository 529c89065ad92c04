import { decodePdu, encodePdu, type Message } from '../../carriers/smpp/pdu.ts';
import { NO_TLVS } from '../../carriers/smpp/tlv.ts';

const SEQUENCE_OFFSET = 12;

/** A deliver_sm without its sequence number. Encoded once: it waits in less memory and is cheap to send again. */
export function deliverFrame(message: Message): Buffer {
  return encodePdu({ ...message, command: 'deliver_sm', status: 0, sequence: 0 });
}

/** The frame with its sequence number, written in place. */
export function withSequence(frame: Buffer, sequence: number): Buffer {
  frame.writeUInt32BE(sequence, SEQUENCE_OFFSET);
  return frame;
}

/** A copy without optional parameters, for clients that bound with an interface_version below 0x34. */
export function withoutTlvs(frame: Buffer): Buffer {
  const pdu = decodePdu(frame);
  return 'command' in pdu && pdu.command === 'deliver_sm' ? encodePdu({ ...pdu, tlvs: NO_TLVS }) : frame;
}
