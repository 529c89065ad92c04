import { STATUS as SMPP } from '../../carriers/smpp/status.ts';
import { AccountAway, AppError } from '../../platform/errors.ts';
import type { Refusal, Verdict } from '../sending/draft.ts';
import { STATUS } from '../states.ts';

/** Our own statuses, from the range that SMPP leaves to vendors (SMPP 3.4, 5.1.3). */
export const OWN_STATUS = { no_credit: 0x400, opted_out: 0x401, no_price: 0x402, no_route: 0x403 } as const;

/** The command_status of each rejection: the one table of both directions, which docs/smpp.md shows. */
const STATUS_OF_REFUSAL: Readonly<Record<Refusal, number>> = {
  not_a_number: SMPP.ESME_RINVDSTADR,
  no_country_code: SMPP.ESME_RINVDSTADR,
  unknown_country_code: SMPP.ESME_RINVDSTADR,
  impossible_length: SMPP.ESME_RINVDSTADR,
  bad_sender: SMPP.ESME_RINVSRCADR,
  foreign_sender: SMPP.ESME_RINVSRCADR,
  sender_not_allowed: SMPP.ESME_RINVSRCADR,
  no_pool: SMPP.ESME_RINVSRCADR,
  empty_body: SMPP.ESME_RINVMSGLEN,
  bad_body: SMPP.ESME_RINVMSGLEN,
  no_content: SMPP.ESME_RINVMSGLEN,
  body_too_long: SMPP.ESME_RINVMSGLEN,
  body_not_gsm: SMPP.ESME_RINVMSGLEN,
  binary_too_long: SMPP.ESME_RINVMSGLEN,
  text_too_long_for_header: SMPP.ESME_RINVMSGLEN,
  no_route: OWN_STATUS.no_route,
  no_price: OWN_STATUS.no_price,
  no_credit: OWN_STATUS.no_credit,
  opted_out: OWN_STATUS.opted_out,
};

/** Returns the command_status of a verdict on one message. */
export function statusOfVerdict(verdict: Verdict): number {
  if (verdict.kind === 'accepted') return SMPP.ESME_ROK;
  // The client's id was used for other content.
  return verdict.kind === 'conflict' ? SMPP.ESME_RSUBMITFAIL : STATUS_OF_REFUSAL[verdict.refusal];
}

/** Returns the command_status of a failure: temporary, as nothing is known to be wrong with the request. */
export const statusOfError = (error: unknown): number =>
  error instanceof AccountAway || (error instanceof AppError && error.code === 'rate_limited')
    ? SMPP.ESME_RTHROTTLED
    : SMPP.ESME_RSYSERR;

/** The written form of a state in receipts and responses: `stat` and message_state (SMPP 3.4, 5.2.28). */
export type WrittenState = { readonly stat: string; readonly state: number };

const WRITTEN: Readonly<Record<number, WrittenState>> = {
  [STATUS.UNKNOWN]: { stat: 'UNKNOWN', state: 7 },
  [STATUS.ACCEPTED]: { stat: 'ENROUTE', state: 1 },
  [STATUS.REJECTED]: { stat: 'REJECTD', state: 8 },
  [STATUS.DELIVERED]: { stat: 'DELIVRD', state: 2 },
  [STATUS.EXPIRED]: { stat: 'EXPIRED', state: 3 },
  [STATUS.DELETED]: { stat: 'DELETED', state: 4 },
};
/** All other failures. */
const UNDELIVERABLE: WrittenState = { stat: 'UNDELIV', state: 5 };

/** Returns the written form of a message state. */
export const writtenState = (status: number): WrittenState => WRITTEN[status] ?? UNDELIVERABLE;

/**
 * Returns the error code of a state in receipts: 0 for a success or a state that is not final, else the code of our
 * status table.
 */
export const errorOfState = (status: number): number =>
  status === STATUS.DELIVERED || status === STATUS.ACCEPTED ? 0 : status;
