/** What a failure means and what to do, as keys under `advice` of campaigns and under `failed` of messages. */
type Advice =
  | 'notTried'
  | 'tooLate'
  | 'noWhatsapp'
  | 'marketingLimit'
  | 'throttled'
  | 'template'
  | 'window'
  | 'account'
  | 'rejected'
  | 'expired'
  | 'undeliverable'
  | 'disabled'
  | 'unsupported'
  | 'noNumber'
  | 'other';

type AdviceReason = { readonly channel: string; readonly status: string; readonly code: string };

/** Codes that are more specific than the status: those of the WhatsApp Cloud API by Meta's list, and our own. */
const BY_CODE: Readonly<Record<string, Advice>> = {
  NOT_TRIED: 'notTried',
  ESME_RINVDSTADR: 'noNumber',
  VALIDITY_ENDED: 'tooLate',
  '131026': 'noWhatsapp',
  '131047': 'window',
  '131049': 'marketingLimit',
  '131050': 'disabled',
  '130429': 'throttled',
  '131048': 'throttled',
  '131056': 'throttled',
  '80007': 'throttled',
  '132000': 'template',
  '132001': 'template',
  '132005': 'template',
  '132007': 'template',
  '132012': 'template',
  '132015': 'template',
  '132016': 'template',
  '131031': 'account',
  '131042': 'account',
  '131045': 'account',
  '368': 'account',
};

const BY_STATUS: Readonly<Record<string, Advice>> = {
  REJECTED: 'rejected',
  EXPIRED: 'expired',
  UNDELIVERABLE: 'undeliverable',
  DISABLED: 'disabled',
  UNSUPPORTED: 'unsupported',
  CONVERSATION_CLOSED: 'window',
};

/** Returns the remedy for a reason of failure: by its code if that is more specific, otherwise by its status. */
export const adviceOf = ({ channel, status, code }: AdviceReason): Advice =>
  (channel === 'WHATSAPP' || !/^\d+$/.test(code) ? BY_CODE[code] : undefined) ?? BY_STATUS[status] ?? 'other';
