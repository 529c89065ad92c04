import type { Outcome } from '../outcome.ts';
import type { Answer } from './pending.ts';
import type { Pdu } from './pdu.ts';
import { STATUS, statusClass, statusName } from './status.ts';
import { readText, TAG } from './tlv.ts';

/** What one answer means for one part of a message. */
export type Fate =
  | { readonly kind: 'accepted'; readonly carrierId: string }
  /** `elsewhere`: for a reason that another carrier need not have. */
  | {
      readonly kind: 'refused';
      readonly status: Refusal;
      readonly elsewhere: boolean;
      readonly code: string;
      readonly text: string;
    }
  /** Known not to have been taken. `cause` says what must happen before it goes again. */
  | { readonly kind: 'again'; readonly cause: Cause; readonly code: string; readonly text: string }
  | { readonly kind: 'unknown'; readonly text: string };

export type Refusal = Extract<Outcome, { kind: 'refused' }>['status'];
export type Cause = 'throttle' | 'later' | 'rebind' | 'unsent';

/** The rules of the protocol sheet smpp, sections 3 and 4, and of its section 11 for the refusals. */
export function fateOf(answer: Answer): Fate {
  switch (answer.kind) {
    case 'timeout':
      return { kind: 'unknown', text: 'The carrier did not answer in time' };
    case 'unreadable':
      return { kind: 'unknown', text: `The carrier's answer was not readable: ${answer.reason}` };
    case 'closed':
      return answer.written
        ? { kind: 'unknown', text: 'The connection ended before the carrier answered' }
        : { kind: 'again', cause: 'unsent', code: 'NOT_SENT', text: 'The connection ended before it was sent' };
    case 'response':
      return fateOfResponse(answer.pdu);
  }
}

function fateOfResponse(pdu: Pdu): Fate {
  if (pdu.status !== STATUS.ESME_ROK) return fateOfStatus(pdu.status, reasonOf(pdu));
  if (pdu.command === 'submit_sm_resp') return { kind: 'accepted', carrierId: pdu.messageId };
  return { kind: 'unknown', text: 'The carrier answered with a generic_nack that names no error' };
}

function fateOfStatus(status: number, text: string): Fate {
  const code = statusName(status);
  switch (statusClass(status)) {
    case 'throttle':
      return { kind: 'again', cause: 'throttle', code, text };
    case 'retry':
      return { kind: 'again', cause: 'later', code, text };
    case 'bind':
    case 'bug':
      return { kind: 'again', cause: 'rebind', code, text };
    case 'permanent':
      return { kind: 'refused', status: refusalOf(status), elsewhere: BLAMES_THE_CARRIER.has(status), code, text };
  }
}

function refusalOf(status: number): Refusal {
  return status === STATUS.ESME_RINVDSTADR ? 'UNDELIVERABLE' : 'REJECTED';
}

/** Seen at Infobip, and of no meaning in the standard (protocol sheet smpp, section 3). */
const NETWORK_NOT_COVERED = 0x22;
const CHANNEL_DISABLED = 0x4a1;

/**
 * Final refusals that speak of the carrier, of our account there or of how it wants to be spoken to: another carrier may
 * well take the message. All others speak of the message, or nobody knows of what, and end it: a number that is wrong
 * is wrong everywhere, and a text that one carrier blocks is not offered around.
 */
const BLAMES_THE_CARRIER: ReadonlySet<number> = new Set([
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

/** The refusals that people ask about; the others are told by their name. */
const REASONS: ReadonlyMap<number, string> = new Map([
  [STATUS.ESME_RINVMSGLEN, 'message length is not valid'],
  [STATUS.ESME_RINVSRCADR, 'sender is not valid'],
  [STATUS.ESME_RINVDSTADR, 'destination is not valid'],
  [STATUS.ESME_RMSGQFUL, 'message queue is full'],
  [STATUS.ESME_RINVSERTYP, 'service type is not valid'],
  [STATUS.ESME_RSUBMITFAIL, 'submit failed'],
  [STATUS.ESME_RSYSERR, 'system error at the carrier'],
  [STATUS.ESME_RTHROTTLED, 'too many messages at a time'],
  [STATUS.ESME_RINVEXPIRY, 'validity is not valid'],
  [STATUS.ESME_RPROHIBITED, 'not allowed on this account'],
  [STATUS.ESME_RINVDCS, 'alphabet is not supported'],
]);

/** The carrier's own words (the parameter additional_status_info_text) come first. */
function reasonOf(pdu: Pdu): string {
  const own = 'tlvs' in pdu ? readText(pdu.tlvs, TAG.additional_status_info_text) : null;
  const reason = own ?? REASONS.get(pdu.status);
  const code = statusName(pdu.status);
  return reason === undefined ? `The carrier answered ${code}` : `The carrier answered ${code}: ${reason}`;
}
