import type { STATUS } from '../../carriers/smpp/status.ts';

export type StatusName = keyof typeof STATUS;

/** One receipt of a message: what its text says and what its message_state parameter says. */
export type ReceiptStep = { readonly stat: string; readonly state: number; readonly err: string };

/** What becomes of the messages to one kind of destination. */
export type Outcome = {
  /** Refused with this status: always, or so many times before one is taken when `refuseTimes` is set. */
  readonly refuse?: StatusName;
  readonly refuseTimes?: number;
  /** The receipts, in order, each `receiptDelayMs` after the one before. Absent: one DELIVRD. */
  readonly receipts?: readonly ReceiptStep[];
  /** The first receipt is sent before the response. */
  readonly early?: boolean;
  /** Each receipt is sent twice. */
  readonly doubled?: boolean;
};

/**
 * How the sandbox behaves. It may be changed while the sandbox runs; a change counts from the next PDU on.
 * Everything that is left to chance comes from `seed`, so a run with the same traffic repeats.
 */
export type SandboxScript = {
  /** undefined accepts any system_id that is not empty; each is an account of its own. */
  systemId: string | undefined;
  /** undefined accepts any password. */
  password: string | undefined;
  /** Longest password in characters; SMPP says 8, many carriers hand out longer ones. 0 does not check. */
  maxPasswordLength: number;
  /** Answer to every bind; null lets binds through to the checks. */
  bindRefusal: StatusName | null;
  /** Binds of one system_id at a time; 0 is no limit. One more is answered ESME_RALYBND. */
  maxBinds: number;
  /** A connection that has not bound after this time is closed. */
  bindTimeoutMs: number;
  /** Silence of the peer after which the sandbox sends enquire_link. */
  enquireMs: number;
  /** Silence of the peer after which the sandbox closes the connection. */
  idleMs: number;

  /** Submits of one session that may wait for their answer; 0 is no limit. */
  window: number;
  windowStatus: 'ESME_RTHROTTLED' | 'ESME_RMSGQFUL';
  /** submit_sm a second of one system_id over all its binds (token bucket, a quarter of a second deep); 0 is no limit. */
  tps: number;
  throttleShare: number;
  responseDelayMs: number;
  /** These responses come `reorderMs` later than their turn. */
  reorderResponseShare: number;
  /** These messages are taken, and never answered. */
  dropResponseShare: number;
  reorderMs: number;
  /** The connection is cut right after its n-th submit was taken, without writing what was not written yet; 0 never. */
  cutAfter: number;
  /** Accept numbers with a leading plus. */
  allowPlus: boolean;

  /** `hex-padded` has 16 upper-case digits. */
  idFormat: 'decimal' | 'hex-lower' | 'hex-upper' | 'hex-padded' | 'uuid';
  /** First message id as a number, below 2^53; by default microseconds of the clock, so that a restart repeats none. */
  firstId: number;
  /** How a receipt spells the id: as the response did, in the other base, in the other case, or with leading zeros. */
  receiptIdBase: 'same' | 'opposite' | 'other-case' | 'zero-padded';
  receiptForm: 'text' | 'tlv' | 'both';
  /** `on`: to messages whose registered_delivery asks for one. */
  receipts: 'on' | 'none';
  receiptDelayMs: number;
  earlyReceiptShare: number;
  doubleReceiptShare: number;
  missingReceiptShare: number;
  /** These receipts come `reorderMs` later than their turn. */
  reorderReceiptShare: number;
  /** So often a receipt for a message that nobody submitted goes with a receipt. */
  foreignReceiptShare: number;
  /** By the last four digits of the destination; every other destination gets `otherwise`. */
  outcomes: Readonly<Record<string, Outcome>>;
  otherwise: Outcome;

  /** deliver_sm of one session that may wait for their answer. */
  deliverWindow: number;
  /** A deliver_sm without an answer, or with a temporary refusal, is sent again after this time. */
  retryMs: number;
  /** Times that one deliver_sm is sent before the sandbox gives it up. A cut connection does not count. */
  maxTries: number;
  /** Deliver_sm of one system_id that may wait for a session; beyond it the newest is lost and counted. */
  maxWaiting: number;
  /** The newest messages that stay for query_sm, cancel_sm and replace_sm (up to twice as many). */
  keepMessages: number;
  seed: number;
};

const step = (stat: string, state: number, err = '000'): ReceiptStep => ({ stat, state, err });

export const DELIVERED = step('DELIVRD', 2);
export const DELETED = step('DELETED', 4);
const EXPIRED = step('EXPIRED', 3, '003');
/** message_state values that no other follows. */
export const FINAL_STATES: ReadonlySet<number> = new Set([2, 3, 4, 5, 8]);

/** Ordinary numbers deliver; the last four digits 9901 to 9911 ask for something else (protocol sheet smpp, 16.5). */
const DEFAULT_OUTCOMES: Readonly<Record<string, Outcome>> = {
  9901: { receipts: [step('UNDELIV', 5, '001')] },
  9902: { receipts: [EXPIRED] },
  9903: { receipts: [step('REJECTD', 8, '008')] },
  9904: { receipts: [step('ENROUTE', 1), DELIVERED] },
  9905: { early: true },
  9906: { doubled: true },
  9907: { receipts: [] },
  9908: { receipts: [step('UNKNOWN', 7)] },
  9909: { refuse: 'ESME_RINVDSTADR' },
  9910: { refuse: 'ESME_RTHROTTLED', refuseTimes: 3 },
  9911: { receipts: [step('FAILED', 5, '011')] },
};

export function defaultScript(): SandboxScript {
  return {
    systemId: undefined,
    password: undefined,
    maxPasswordLength: 0,
    bindRefusal: null,
    maxBinds: 0,
    bindTimeoutMs: 10_000,
    enquireMs: 30_000,
    idleMs: 90_000,
    window: 0,
    windowStatus: 'ESME_RTHROTTLED',
    tps: 0,
    throttleShare: 0,
    responseDelayMs: 0,
    reorderResponseShare: 0,
    dropResponseShare: 0,
    reorderMs: 50,
    cutAfter: 0,
    allowPlus: false,
    idFormat: 'decimal',
    firstId: Date.now() * 1000,
    receiptIdBase: 'same',
    receiptForm: 'both',
    receipts: 'on',
    receiptDelayMs: 500,
    earlyReceiptShare: 0,
    doubleReceiptShare: 0,
    missingReceiptShare: 0,
    reorderReceiptShare: 0,
    foreignReceiptShare: 0,
    outcomes: DEFAULT_OUTCOMES,
    otherwise: {},
    deliverWindow: 100,
    retryMs: 5000,
    maxTries: 20,
    maxWaiting: 1_000_000,
    keepMessages: 5000,
    seed: 1,
  };
}

/** What the script wants for a destination. */
export function outcomeFor(script: SandboxScript, destination: string): Outcome {
  return script.outcomes[destination.slice(-4)] ?? script.otherwise;
}
