import type { Outcome } from '../outcome.ts';
import type { Answer } from './pending.ts';
import type { Pdu } from './pdu.ts';
import { STATUS, statusClass, statusName } from './status.ts';
import { readText, TAG } from './tlv.ts';

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
export type Refusal = Extract<Outcome, { kind: 'refused' }>['status'];
/**
 * Reason to send a part again: the carrier throttles, has a temporary error, wants a new bind, or never got the part.
 */
export type RetryCause = 'throttle' | 'later' | 'rebind' | 'unsent';

/** Interprets a response to submit_sm (SMPP 3.4, 5.1.3). */
export function partResultOf(answer: Answer): PartResult {
  switch (answer.kind) {
    case 'timeout':
      return { kind: 'unknown', text: 'The carrier did not answer in time' };
    case 'unreadable':
      return { kind: 'unknown', text: `The carrier's answer was unreadable: ${answer.reason}` };
    case 'closed':
      return answer.written
        ? { kind: 'unknown', text: 'The connection ended before the carrier answered' }
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
  if (pdu.status !== STATUS.ESME_ROK) return resultOfStatus(pdu.status, reasonOf(pdu));
  if (pdu.command === 'submit_sm_resp') return { kind: 'accepted', carrierId: pdu.messageId };
  return { kind: 'unknown', text: 'The carrier answered with a generic_nack without an error code' };
}

function resultOfStatus(status: number, text: string): PartResult {
  const code = statusName(status);
  switch (statusClass(status)) {
    case 'throttle':
      return { kind: 'retry', cause: 'throttle', code, text };
    case 'retry':
      return { kind: 'retry', cause: 'later', code, text };
    case 'bind':
    case 'bug':
      return { kind: 'retry', cause: 'rebind', code, text };
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
  return reason === undefined ? `The carrier answered ${code}` : `The carrier answered ${code}: ${reason}`;
}
