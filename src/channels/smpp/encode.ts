import { absoluteTime, destinationAddress, relativeTime, sourceAddress } from '../../smpp/message.ts';
import { COMMAND_LENGTH_AT, encodePdu, HEADER_OCTETS, type Pdu, type Tlvs } from '../../smpp/pdu.ts';
import type { Answer } from '../../smpp/session.ts';
import { STATUS, statusClass, statusName } from '../../smpp/status.ts';
import {
  countParts,
  type EncodedText,
  encodeText,
  fitOneMessage,
  isSeptets,
  roomBeside,
  udhConcat,
} from '../../smpp/text.ts';
import { cStringSize, NO_TLVS, readText, TAG, uint8, uint16 } from '../../smpp/wire.ts';
import type { Outcome, Submission } from '../carrier.ts';
import { compileTlvs, type WriteTlvs } from '../message-tlvs.ts';
import type { SmppSettings } from './settings.ts';

/** The octets of a submit_sm before its destination, and those after the destination's NUL. */
type Template = { readonly head: Buffer; readonly tail: Buffer };

/** The fields shared by messages that differ only in their destination. */
type Kind = Pick<Submission, 'sender' | 'body' | 'wantReceipt' | 'dataCoding'> & {
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
  const writeTlvs = tlvsFor(settings);
  let last: Kind | null = null;
  return (submission) => {
    const validity = validityPeriod(submission.validUntil, settings.validity);
    const known = last !== null && isOfKind(last, submission, validity) ? last : null;
    if (known?.template) return [frameFor(known.template, submission.destination, settings)];
    const frames = encodeSubmission(submission, settings, nextRef, validity, writeTlvs);
    if (known) known.template = templateOf(frames);
    else last = submission.tlvs ? null : kindOf(submission, validity);
    return frames;
  };
}

const kindOf = ({ sender, body, wantReceipt, dataCoding }: Submission, validity: string): Kind => ({
  sender,
  body,
  wantReceipt,
  ...(dataCoding !== undefined && { dataCoding }),
  validity,
  template: null,
});

const isOfKind = (
  kind: Kind,
  { sender, body, wantReceipt, udh, binary, tlvs, dataCoding }: Submission,
  validity: string,
): boolean =>
  kind.body === body &&
  kind.sender === sender &&
  kind.validity === validity &&
  kind.wantReceipt === wantReceipt &&
  kind.dataCoding === dataCoding &&
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

const UDH_INDICATOR = 0x40;
const BINARY_DATA_CODING = 0x04;
const VERSION_3_4 = 0x34;
const MAX_PARTS = 255;

/** The fields that differ between the parts of a message. */
type Part = {
  readonly esmClass: number;
  readonly dataCoding: number;
  readonly shortMessage: Uint8Array;
  readonly tlvs: Tlvs;
};

/** The encoded parts of a message, in order: there is always at least one. */
export type Frames = readonly [Buffer, ...Buffer[]];

/**
 * Encodes a message as submit_sm frames, in part order (SMPP 3.4, 4.4; GSM 03.40, 9.2.3.24). `nextRef` returns the
 * reference that ties the parts together. Throws a RangeError if the message cannot be written as SMPP: all parts are
 * encoded here, so that none is sent if one of them cannot be.
 */
export function encodeSubmission(
  submission: Submission,
  settings: SmppSettings,
  nextRef: (destination: string) => number,
  validity = validityPeriod(submission.validUntil, settings.validity),
  writeTlvs = tlvsFor(settings),
): Frames {
  const parts = partsOf(submission, settings, nextRef);
  const passed = writeTlvs(submission.tlvs);
  const source = sourceAddress(submission.sender, settings);
  const destination = destinationAddress(submission.destination, settings);
  const encode = (part: Part): Buffer =>
    encodePdu({
      command: 'submit_sm',
      status: 0,
      sequence: 0,
      serviceType: settings.serviceType,
      sourceTon: source.ton,
      sourceNpi: source.npi,
      source: source.addr,
      destTon: destination.ton,
      destNpi: destination.npi,
      destination: destination.addr,
      esmClass: part.esmClass,
      protocolId: 0,
      priority: 0,
      scheduleTime: '',
      validity,
      registeredDelivery: submission.wantReceipt ? 1 : 0,
      replaceIfPresent: 0,
      dataCoding: part.dataCoding,
      defaultMessageId: 0,
      shortMessage: part.shortMessage,
      tlvs: passed.size === 0 ? part.tlvs : new Map([...passed, ...part.tlvs]),
    });
  const [first, ...others] = parts;
  if (!first) throw new RangeError('a message has at least one part');
  return [encode(first), ...others.map(encode)];
}

/** Returns the writer of the parameters of messages and of the connection; an SMPP 3.3 carrier gets none. */
const tlvsFor = (settings: SmppSettings): WriteTlvs =>
  settings.interfaceVersion >= VERSION_3_4 ? compileTlvs(settings) : () => NO_TLVS;

function partsOf(
  submission: Submission,
  settings: SmppSettings,
  nextRef: (destination: string) => number,
): readonly Part[] {
  const { binary, udh } = submission;
  if (binary) return [binaryPart(binary, settings)];
  return udh ? [headedPart(udh, submission, settings)] : textParts(submission, settings, nextRef);
}

/** Builds a text after a header. In GSM 03.38 it is not packed: the carrier adds the fill bits. */
function headedPart(udh: Uint8Array, { body, dataCoding: group }: Submission, settings: SmppSettings): Part {
  const { alphabet, units } = countParts(body, settings);
  const room = roomBeside(udh, alphabet);
  if (units > room) throw new RangeError(`a text next to this header takes at most ${room} units, not ${units}`);
  const { dataCoding, parts } = encodeText(body, settings, group);
  const shortMessage = Buffer.concat([udh, ...parts]);
  return { esmClass: UDH_INDICATOR, dataCoding, shortMessage, tlvs: NO_TLVS };
}

function binaryPart(binary: NonNullable<Submission['binary']>, settings: SmppSettings): Part {
  const { udh, data, dataCoding = BINARY_DATA_CODING } = binary;
  const shortMessage = Buffer.concat([udh, data]);
  if (!fitOneMessage(binary)) throw new RangeError(`a message takes no ${shortMessage.length} octets`);
  if (isSeptets(dataCoding) && settings.defaultAlphabet !== 'gsm')
    throw new RangeError('this carrier takes no national language tables: its alphabet is not GSM 03.38');
  const esmClass = udh.length > 0 ? UDH_INDICATOR : 0;
  return { esmClass, dataCoding: dataCoding || settings.gsmDataCoding, shortMessage, tlvs: NO_TLVS };
}

function textParts(
  { body, destination, dataCoding: group }: Submission,
  settings: SmppSettings,
  nextRef: (destination: string) => number,
): Part[] {
  const text = group === undefined ? encodedText(body, settings) : encodeText(body, settings, group);
  const { dataCoding } = text;
  const [first] = text.parts;
  if (first && text.parts.length === 1) return [wholePart(body, first, dataCoding, settings)];
  const total = text.parts.length;
  if (total > MAX_PARTS) throw new RangeError(`a message takes at most ${MAX_PARTS} parts, not ${total}`);
  const ref = nextRef(destination);
  return text.parts.map((octets, index) => joinedPart(octets, dataCoding, { ref, total, seq: index + 1 }, settings));
}

/** The last text that was encoded: a bulk send has the same one for thousands of messages. */
let last: { readonly body: string; readonly settings: SmppSettings; readonly text: EncodedText } | null = null;

function encodedText(body: string, settings: SmppSettings): EncodedText {
  if (last?.body !== body || last.settings !== settings) last = { body, settings, text: encodeText(body, settings) };
  return last.text;
}

/** Builds a text in one submit_sm: in message_payload if the carrier must split it. */
function wholePart(body: string, octets: Uint8Array, dataCoding: number, settings: SmppSettings): Part {
  const carrierSplits = settings.longMode === 'payload' && countParts(body, settings).parts > 1;
  if (!carrierSplits) return { esmClass: 0, dataCoding, shortMessage: octets, tlvs: NO_TLVS };
  const tlvs = new Map([[TAG.message_payload, octets]]);
  return { esmClass: 0, dataCoding, shortMessage: new Uint8Array(0), tlvs };
}

type PartPosition = { readonly ref: number; readonly total: number; readonly seq: number };

function joinedPart(octets: Uint8Array, dataCoding: number, position: PartPosition, settings: SmppSettings): Part {
  if (settings.longMode === 'sar') return { esmClass: 0, dataCoding, shortMessage: octets, tlvs: sarTlvs(position) };
  const udh = udhConcat(position.ref, position.total, position.seq, settings.longMode === 'udh16' ? 16 : 8);
  const shortMessage = Buffer.concat([udh, octets]);
  return { esmClass: UDH_INDICATOR, dataCoding, shortMessage, tlvs: NO_TLVS };
}

function sarTlvs({ ref, total, seq }: PartPosition): Tlvs {
  return new Map([
    [TAG.sar_msg_ref_num, uint16(ref)],
    [TAG.sar_total_segments, uint8(total)],
    [TAG.sar_segment_seqnum, uint8(seq)],
  ]);
}

/** Returns the validity_period of a message, in the format of its carrier. */
function validityPeriod(validUntil: Date | null, form: SmppSettings['validity']): string {
  if (validUntil === null || form === 'empty') return '';
  return form === 'absolute' ? absoluteTime(validUntil) : relativeTime(validUntil.getTime() - Date.now());
}

/**
 * Number of destinations kept, enough for the messages that can be in flight at a time; the oldest is removed first.
 */
const MAX_DESTINATIONS = 10_000;

/**
 * Creates a function that returns the next concatenation reference (16 bits) of a destination. Each destination has its
 * own counter, since a handset joins parts by sender and reference, and 8-bit references drawn at random collide after
 * about 20 messages. Counters start at a random value, so that two processes, or one after a restart, do not start with
 * the same value.
 */
export function createConcatRefs(): (destination: string) => number {
  const last = new Map<string, number>();
  return (destination) => {
    const ref = ((last.get(destination) ?? Math.floor(Math.random() * 0x10000)) + 1) & 0xffff;
    last.delete(destination);
    last.set(destination, ref);
    if (last.size > MAX_DESTINATIONS) forgetOldest(last);
    return ref;
  };
}

function forgetOldest(map: Map<string, number>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}

/** The meaning of one response for one part of a message. */
export type PartResult =
  | { readonly kind: 'accepted'; readonly carrierId: string }
  /** Rejected permanently. `elsewhere` is true if the reason may not apply at another carrier. */
  | {
      readonly kind: 'refused';
      readonly status: Refusal;
      readonly elsewhere: boolean;
      readonly code: string;
      readonly text: string;
    }
  /** Certainly not taken. `cause` names the condition for sending the part again. */
  | { readonly kind: 'retry'; readonly cause: RetryCause; readonly code: string; readonly text: string }
  | { readonly kind: 'unknown'; readonly text: string };

/** Final states that a rejection can lead to. */
type Refusal = Extract<Outcome, { kind: 'refused' }>['status'];
/**
 * Reason to send a part again: the carrier throttles, has a temporary error, wants a new bind, or never got the part.
 */
type RetryCause = 'throttle' | 'later' | 'rebind' | 'unsent';

/** Interprets a response to submit_sm (SMPP 3.4, 5.1.3). */
export function partResultOf(answer: Answer): PartResult {
  switch (answer.kind) {
    case 'timeout':
      return { kind: 'unknown', text: 'The carrier did not respond in time' };
    case 'closed':
      return answer.written
        ? { kind: 'unknown', text: 'The connection ended before the carrier responded' }
        : {
            kind: 'retry',
            cause: 'unsent',
            code: 'NOT_SENT',
            text: 'The connection ended before the message was sent',
          };
    case 'response':
      return resultOfResponse(answer.pdu);
  }
}

function resultOfResponse(pdu: Pdu): PartResult {
  // Not a response to this message: the operation or the framing is wrong for the session, whatever the message is.
  if (pdu.command === 'generic_nack' && statusClass(pdu.status) === 'bug')
    return { kind: 'retry', cause: 'rebind', code: statusName(pdu.status), text: reasonOf(pdu) };
  if (pdu.status !== STATUS.ESME_ROK) return resultOfStatus(pdu.status, reasonOf(pdu));
  if (pdu.command === 'submit_sm_resp') return { kind: 'accepted', carrierId: pdu.messageId };
  return { kind: 'unknown', text: 'The carrier responded with a generic_nack without an error code' };
}

function resultOfStatus(status: number, text: string): PartResult {
  const code = statusName(status);
  switch (statusClass(status)) {
    case 'throttle':
      return { kind: 'retry', cause: 'throttle', code, text };
    case 'retry':
      return { kind: 'retry', cause: 'later', code, text };
    case 'bind':
      return { kind: 'retry', cause: 'rebind', code, text };
    // A parameter of this message that this carrier does not take: a new bind, which all others share, would not help.
    case 'bug':
      return { kind: 'refused', status: 'REJECTED', elsewhere: true, code, text };
    case 'permanent':
      return { kind: 'refused', status: refusalStatus(status), elsewhere: CARRIER_FAULTS.has(status), code, text };
  }
}

function refusalStatus(status: number): Refusal {
  return status === STATUS.ESME_RINVDSTADR ? 'UNDELIVERABLE' : 'REJECTED';
}

/** Used by Infobip and undefined in the standard. */
const NETWORK_NOT_COVERED = 0x22;
const CHANNEL_DISABLED = 0x4a1;

/**
 * The permanent rejections that concern the carrier, our account there, or the carrier's own protocol rules: another
 * carrier may well take the message. All others concern the message or are unclear, and end it: a wrong number is wrong
 * everywhere, and a text that one carrier blocks is not offered to others.
 */
const CARRIER_FAULTS: ReadonlySet<number> = new Set([
  STATUS.ESME_RSUBMITFAIL,
  STATUS.ESME_RINVSERTYP,
  STATUS.ESME_RSERTYPUNAUTH,
  STATUS.ESME_RPROHIBITED,
  STATUS.ESME_RSERTYPDENIED,
  STATUS.ESME_RINVDCS,
  STATUS.ESME_RTLVNOTALLWD,
  STATUS.ESME_RMISSINGTLV,
  NETWORK_NOT_COVERED,
  CHANNEL_DISABLED,
]);

/** Explanations of common rejections; the others are shown by name only. */
const REASONS: ReadonlyMap<number, string> = new Map([
  [STATUS.ESME_RINVMSGLEN, 'message length is not valid'],
  [STATUS.ESME_RINVSRCADR, 'sender is not valid'],
  [STATUS.ESME_RINVDSTADR, 'destination is not valid'],
  [STATUS.ESME_RMSGQFUL, 'message queue is full'],
  [STATUS.ESME_RINVSERTYP, 'service type is not valid'],
  [STATUS.ESME_RSUBMITFAIL, 'submit failed'],
  [STATUS.ESME_RSYSERR, 'system error at the carrier'],
  [STATUS.ESME_RTHROTTLED, 'too many messages at the same time'],
  [STATUS.ESME_RINVEXPIRY, 'validity period is not valid'],
  [STATUS.ESME_RPROHIBITED, 'not allowed on this account'],
  [STATUS.ESME_RINVDCS, 'alphabet is not supported'],
]);

/** Explains a rejection: the carrier's own text (the parameter additional_status_info_text) takes precedence. */
function reasonOf(pdu: Pdu): string {
  const own = 'tlvs' in pdu ? readText(pdu.tlvs, TAG.additional_status_info_text) : null;
  const reason = own ?? REASONS.get(pdu.status);
  const code = statusName(pdu.status);
  return reason === undefined ? `The carrier returned ${code}` : `The carrier returned ${code}: ${reason}`;
}
