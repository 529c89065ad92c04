import { EMPTY_MESSAGE, type Message } from '../../carriers/smpp/pdu.ts';
import { encodeText, type LongMode, udhConcat } from '../../carriers/smpp/text.ts';
import { NO_TLVS, TAG, type Tlvs, uint8, uint16 } from '../../carriers/smpp/tlv.ts';

/** A message from a handset to one of the client's numbers. */
export type InboundMessage = {
  /** Digits without a plus sign. */
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  /** Way of splitting a long text (default `udh8`); `payload` puts any text in message_payload. */
  readonly longMode?: LongMode;
  /** True to send the parts in reverse order. */
  readonly outOfOrder?: boolean;
  /** The concatenation reference; by default the next value of a counter. */
  readonly ref?: number;
  /** The account that receives the message; by default the one that bound last. */
  readonly systemId?: string;
};

const UDHI = 0x40;

/** Returns the deliver_sm of an inbound message, one per part, in the order of delivery. */
export function inboundMessages(inbound: InboundMessage, ref: number): Message[] {
  const longMode = inbound.longMode ?? 'udh8';
  const { dataCoding, parts } = encodeText(inbound.text, { longMode });
  const { source, destination } = inbound;
  const messages = parts.map((octets, index) => ({
    ...EMPTY_MESSAGE,
    sourceTon: 1,
    sourceNpi: 1,
    source,
    destination,
    dataCoding,
    ...partOf(octets, { ref, total: parts.length, seq: index + 1 }, longMode),
  }));
  return inbound.outOfOrder ? messages.toReversed() : messages;
}

type PartPosition = { readonly ref: number; readonly total: number; readonly seq: number };
type Content = Pick<Message, 'esmClass' | 'shortMessage' | 'tlvs'>;

function partOf(octets: Uint8Array, { ref, total, seq }: PartPosition, longMode: LongMode): Content {
  if (longMode === 'payload') {
    const tlvs = new Map([[TAG.message_payload as number, octets]]);
    return { esmClass: 0, shortMessage: new Uint8Array(0), tlvs };
  }
  if (total === 1) return { esmClass: 0, shortMessage: octets, tlvs: NO_TLVS };
  if (longMode === 'sar') return { esmClass: 0, shortMessage: octets, tlvs: sarTlvs({ ref, total, seq }) };
  const header = udhConcat(ref, total, seq, longMode === 'udh16' ? 16 : 8);
  return { esmClass: UDHI, shortMessage: Buffer.concat([header, octets]), tlvs: NO_TLVS };
}

function sarTlvs({ ref, total, seq }: PartPosition): Tlvs {
  return new Map<number, Uint8Array>([
    [TAG.sar_msg_ref_num, uint16(ref)],
    [TAG.sar_total_segments, uint8(total)],
    [TAG.sar_segment_seqnum, uint8(seq)],
  ]);
}
