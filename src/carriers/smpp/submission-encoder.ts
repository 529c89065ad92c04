import type { Submission } from '../carrier.ts';
import { destinationAddress } from './addresses.ts';
import { encodeSubmission, type Frames, validityPeriod } from './encode-submission.ts';
import { COMMAND_LENGTH_AT, HEADER_OCTETS } from './pdu.ts';
import type { SmppSettings } from './settings.ts';
import { cStringSize } from './wire.ts';

/** The octets of a submit_sm before its destination, and those after the destination's NUL. */
type Template = { readonly head: Buffer; readonly tail: Buffer };

/** The fields shared by messages that differ only in their destination. */
type Kind = Pick<Submission, 'sender' | 'body' | 'wantReceipt'> & {
  /** The validity period as it is written. */
  readonly validity: string;
  /** Null until a second message of this kind comes: most texts of single messages are sent once. */
  template: Template | null;
};

/**
 * Creates the encoder of one carrier: `encodeSubmission` with the same result and errors, but in a third of the time if
 * a message of one part differs from the one before only in its destination, as in a bulk send.
 */
export function createSubmissionEncoder(
  settings: SmppSettings,
  nextRef: (destination: string) => number,
): (submission: Submission) => Frames {
  let last: Kind | null = null;
  return (submission) => {
    const validity = validityPeriod(submission.validUntil, settings.validity);
    const known = last !== null && isOfKind(last, submission, validity) ? last : null;
    if (known?.template) return [frameFor(known.template, submission.destination, settings)];
    const frames = encodeSubmission(submission, settings, nextRef, validity);
    if (known) known.template = templateOf(frames);
    else last = submission.tlvs ? null : kindOf(submission, validity);
    return frames;
  };
}

const kindOf = ({ sender, body, wantReceipt }: Submission, validity: string): Kind => ({
  sender,
  body,
  wantReceipt,
  validity,
  template: null,
});

const isOfKind = (
  kind: Kind,
  { sender, body, wantReceipt, udh, binary, tlvs }: Submission,
  validity: string,
): boolean =>
  kind.body === body &&
  kind.sender === sender &&
  kind.validity === validity &&
  kind.wantReceipt === wantReceipt &&
  udh === undefined &&
  binary === undefined &&
  tlvs === undefined;

/** Returns the template of a message, or null for a long one: its parts have their own reference. */
function templateOf([frame, ...others]: Frames): Template | null {
  if (others.length > 0) return null;
  const start = destinationStart(frame);
  // Copies, because the connection writes the sequence number into the frame.
  return {
    head: Buffer.from(frame.subarray(0, start)),
    tail: Buffer.from(frame.subarray(frame.indexOf(0, start) + 1)),
  };
}

/**
 * Returns the offset after service_type, type and plan of the sender, the sender, and type and plan of the destination.
 */
function destinationStart(frame: Buffer): number {
  const senderStart = frame.indexOf(0, HEADER_OCTETS) + 3;
  return frame.indexOf(0, senderStart) + 3;
}

function frameFor({ head, tail }: Template, e164: string, settings: SmppSettings): Buffer {
  const { addr } = destinationAddress(e164, settings);
  const tailAt = head.length + cStringSize('destination', addr, 21);
  const frame = Buffer.allocUnsafe(tailAt + tail.length);
  frame.set(head);
  for (let i = 0; i < addr.length; i++) frame[head.length + i] = addr.charCodeAt(i);
  frame[tailAt - 1] = 0;
  frame.set(tail, tailAt);
  frame.writeUInt32BE(frame.length, COMMAND_LENGTH_AT);
  return frame;
}
