import type { Submission } from '../carrier.ts';
import { destinationAddress, sourceAddress } from './addresses.ts';
import { encodePdu, type Tlvs } from './pdu.ts';
import type { SmppSettings } from './settings.ts';
import { countParts, type EncodedText, encodeText, roomBeside, udhConcat } from './text.ts';
import { absoluteTime, relativeTime } from './times.ts';
import { decodeTlvs, NO_TLVS, TAG, uint8, uint16 } from './tlv.ts';

const UDH_INDICATOR = 0x40;
const BINARY_DATA_CODING = 0x04;
const VERSION_3_4 = 0x34;
const MAX_BINARY_OCTETS = 140;
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
): Frames {
  const parts = partsOf(submission, settings, nextRef);
  const passed = passedOn(submission, settings);
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

/** The sender's own parameters; an SMPP 3.3 carrier gets none. */
const passedOn = ({ tlvs }: Submission, { interfaceVersion }: SmppSettings): Tlvs =>
  tlvs && interfaceVersion >= VERSION_3_4 ? decodeTlvs(tlvs) : NO_TLVS;

function partsOf(
  submission: Submission,
  settings: SmppSettings,
  nextRef: (destination: string) => number,
): readonly Part[] {
  const { binary, udh, body } = submission;
  if (binary) return [binaryPart(binary)];
  return udh ? [headedPart(udh, body, settings)] : textParts(submission, settings, nextRef);
}

/** Builds a text after a header. In GSM 03.38 it is not packed: the carrier adds the fill bits. */
function headedPart(udh: Uint8Array, body: string, settings: SmppSettings): Part {
  const { alphabet, units } = countParts(body, settings);
  const room = roomBeside(udh, alphabet);
  if (units > room) throw new RangeError(`a text next to this header takes at most ${room} units, not ${units}`);
  const { dataCoding, parts } = encodeText(body, settings);
  const shortMessage = Buffer.concat([udh, ...parts]);
  return { esmClass: UDH_INDICATOR, dataCoding, shortMessage, tlvs: NO_TLVS };
}

function binaryPart({ udh, data, dataCoding = BINARY_DATA_CODING }: NonNullable<Submission['binary']>): Part {
  const shortMessage = Buffer.concat([udh, data]);
  if (shortMessage.length > MAX_BINARY_OCTETS) {
    throw new RangeError(`a binary message takes at most ${MAX_BINARY_OCTETS} octets, not ${shortMessage.length}`);
  }
  const esmClass = udh.length > 0 ? UDH_INDICATOR : 0;
  return { esmClass, dataCoding, shortMessage, tlvs: NO_TLVS };
}

function textParts(
  { body, destination }: Submission,
  settings: SmppSettings,
  nextRef: (destination: string) => number,
): Part[] {
  const text = encodedText(body, settings);
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
export function validityPeriod(validUntil: Date | null, form: SmppSettings['validity']): string {
  if (validUntil === null || form === 'empty') return '';
  return form === 'absolute' ? absoluteTime(validUntil) : relativeTime(validUntil.getTime() - Date.now());
}
