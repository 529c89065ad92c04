import type { Message } from './message.ts';
import { STATUS } from './status.ts';
import { readUdh, userData } from './text.ts';
import { readUint, TAG } from './tlv.ts';

type Segment = Pick<Message, 'esmClass' | 'dataCoding' | 'shortMessage' | 'tlvs'>;

const UDHI = 0x40;
const CONCAT_8 = 0x00;
const CONCAT_16 = 0x08;
const MESSAGE_TYPE = 0x3c;
/** Allowed message types: default, SME delivery acknowledgement, SME user acknowledgement. */
const MESSAGE_TYPES: ReadonlySet<number> = new Set([0x00, 0x08, 0x10]);

/**
 * Validates the type of a submitted message and the position of a part: esm_class against the SAR parameters, the user
 * data header, the SAR parameters (SMPP 3.4, 5.3.2.22 to 5.3.2.24; GSM 03.40, 9.2.3.24). Returns the status of the
 * first error, or 0.
 */
export const segmentStatus = (message: Segment): number =>
  checkEsmClass(message) || checkHeader(message) || checkSar(message);

function checkEsmClass({ esmClass, tlvs }: Segment): number {
  if (!MESSAGE_TYPES.has(esmClass & MESSAGE_TYPE)) return STATUS.ESME_RINVESMCLASS;
  return esmClass & UDHI && tlvs.has(TAG.sar_msg_ref_num) ? STATUS.ESME_RINVTLVVAL : STATUS.ESME_ROK;
}

/** The user data header must be complete, and a concatenation element must have a possible part number. */
function checkHeader(message: Segment): number {
  if (!(message.esmClass & UDHI)) return STATUS.ESME_ROK;
  const header = readUdh(userData(message));
  return header?.ies.every(isValidElement) ? STATUS.ESME_ROK : STATUS.ESME_RINVESMCLASS;
}

function isValidElement({ iei, data }: { iei: number; data: Uint8Array }): boolean {
  if (iei !== CONCAT_8 && iei !== CONCAT_16) return true;
  const [total = 0, seq = 0] = data.slice(-2);
  return data.length === (iei === CONCAT_8 ? 3 : 4) && isPartNumber(total, seq);
}

const SAR_TAGS = [TAG.sar_msg_ref_num, TAG.sar_total_segments, TAG.sar_segment_seqnum];

function checkSar({ tlvs }: Segment): number {
  if (tlvs.size === 0) return STATUS.ESME_ROK;
  const present = SAR_TAGS.filter((tag) => tlvs.has(tag)).length;
  if (present === 0) return STATUS.ESME_ROK;
  if (present < SAR_TAGS.length) return STATUS.ESME_RMISSINGTLV;
  const total = readUint(tlvs, TAG.sar_total_segments, 1);
  const seq = readUint(tlvs, TAG.sar_segment_seqnum, 1);
  if (readUint(tlvs, TAG.sar_msg_ref_num, 2) === null || total === null || seq === null) return STATUS.ESME_RINVTLVLEN;
  return isPartNumber(total, seq) ? STATUS.ESME_ROK : STATUS.ESME_RINVTLVVAL;
}

function isPartNumber(total: number, seq: number): boolean {
  return total >= 1 && seq >= 1 && seq <= total;
}
