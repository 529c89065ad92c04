import { randomUUID } from 'node:crypto';
import { absoluteTime } from '../smpp/message.ts';
import type { Message, Pdu, PduOf } from '../smpp/pdu.ts';
import { STATUS } from '../smpp/status.ts';
import {
  createLedger as createLedgerOf,
  type Ledger as LedgerOf,
  type LedgerOptions,
  type LedgerWriter as WriterOf,
  type Stamp,
} from './ledger.ts';
import { DELETED, FINAL_STATES, type Outcome, type ReceiptStep, type SandboxScript } from './smsc-script.ts';

const ZERO_COUNTS = {
  connections: 0,
  binds: 0,
  bindsRefused: 0,
  submits: 0,
  accepted: 0,
  refused: 0,
  /** Responses to submits that were written to an open connection. */
  answered: 0,
  receipts: 0,
  receiptsAcked: 0,
  receiptsRefused: 0,
  receiptsLost: 0,
  inbound: 0,
  inboundAcked: 0,
  inboundRefused: 0,
  inboundLost: 0,
  /** deliver_sm that were written, repetitions included. */
  deliverWrites: 0,
  queried: 0,
  cancelled: 0,
  replaced: 0,
  /** Protocol violations by the client; `violations()` has their descriptions. */
  violations: 0,
};
/** The counters of the simulator. */
export type Counts = { -readonly [Key in keyof typeof ZERO_COUNTS]: number };

/** The reading side of the simulator's ledger. */
export type Ledger = LedgerOf<LedgerEntry, keyof Counts> & {
  submits(): SubmitEntry[];
  deliveries(kind: DeliveryEntry['kind']): DeliveryEntry[];
  /** Returns descriptions of the client's first 100 protocol violations; `counts().violations` counts all. */
  violations(): readonly string[];
};

/** The writing side, for the simulator itself. The `record…` functions return null when no entry is kept. */
export type LedgerWriter = Ledger &
  Pick<WriterOf<LedgerEntry, keyof Counts>, 'count' | 'close'> & {
    violation(text: string): void;
    /** Records a submit; `details` is called only when an entry is kept. */
    recordSubmit(
      status: string,
      details: () => Omit<SubmitEntry, keyof Stamp | 'kind' | 'status' | 'answered'>,
    ): SubmitEntry | null;
    recordAnswer(entry: SubmitEntry | null): void;
    recordDelivery(
      kind: DeliveryEntry['kind'],
      details: () => Omit<DeliveryEntry, keyof Stamp | 'kind' | 'tries' | 'result'>,
    ): DeliveryEntry | null;
    recordTry(entry: DeliveryEntry | null): void;
    recordResult(kind: DeliveryEntry['kind'], entry: DeliveryEntry | null, result: DeliveryResult): void;
  };

const MAX_VIOLATIONS = 100;

/** Creates the ledger of a simulated SMSC: its submits, responses and deliveries. */
export function createLedger(options: LedgerOptions): LedgerWriter {
  const ledger = createLedgerOf<LedgerEntry, keyof Counts>(options, ZERO_COUNTS);
  const { entries, count, add, change } = ledger;
  const violations: string[] = [];
  return {
    ...ledger,
    submits: () => entries().filter((entry) => entry.kind === 'submit'),
    deliveries: (kind) => entries().filter((entry): entry is DeliveryEntry => entry.kind === kind),
    violations: () => violations,
    violation(text) {
      count('violations');
      if (violations.length < MAX_VIOLATIONS) violations.push(text);
    },
    recordSubmit(status, details) {
      count('submits');
      count(status === 'ESME_ROK' ? 'accepted' : 'refused');
      ledger.countAnswer(status);
      return add((stamp): SubmitEntry => ({ kind: 'submit', ...stamp, status, answered: false, ...details() }));
    },
    recordAnswer(entry) {
      count('answered');
      change(entry, { answered: true });
    },
    recordDelivery(kind, details) {
      count(kind === 'receipt' ? 'receipts' : 'inbound');
      return add((stamp): DeliveryEntry => ({ kind, ...stamp, tries: 0, result: 'waiting', ...details() }));
    },
    recordTry(entry) {
      count('deliverWrites');
      if (entry) entry.tries++;
    },
    recordResult(kind, entry, result) {
      const counter = RESULT_COUNTERS[kind][result];
      if (counter) count(counter);
      if (entry) change(entry, { tries: entry.tries, result });
    },
  };
}

const RESULT_COUNTERS: Record<DeliveryEntry['kind'], Record<DeliveryResult, keyof Counts | null>> = {
  receipt: { waiting: null, acked: 'receiptsAcked', refused: 'receiptsRefused', lost: 'receiptsLost' },
  inbound: { waiting: null, acked: 'inboundAcked', refused: 'inboundRefused', lost: 'inboundLost' },
};

/** One submit_sm that reached the simulator, accepted or rejected. */
export type SubmitEntry = Stamp & {
  readonly kind: 'submit';
  readonly session: number;
  readonly systemId: string;
  readonly sequence: number;
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  readonly esmClass: number;
  readonly dataCoding: number;
  /** The user data as received, header included, in hexadecimal. */
  readonly octets: string;
  readonly concat: { readonly ref: number; readonly total: number; readonly seq: number } | null;
  /** The message id; null when the submit was rejected. */
  readonly id: string | null;
  /** The name of the status; `ESME_ROK` when the submit was accepted. */
  readonly status: string;
  /**
   * True if the response was written to an open connection; stays false when it was dropped or the connection was cut.
   */
  answered: boolean;
};

/** Result of a delivery, or `waiting`. */
type DeliveryResult = 'waiting' | 'acked' | 'refused' | 'lost';

/** One deliver_sm of the simulator: a receipt, or (a part of) an inbound message. */
export type DeliveryEntry = Stamp & {
  readonly kind: 'receipt' | 'inbound';
  readonly systemId: string;
  /** The message id as spelled in the receipt. */
  readonly receiptId: string;
  /** The message id as spelled in the response; empty for a message that was never submitted. */
  readonly id: string;
  /** The state as text (`DELIVRD`), or the text of an inbound message. */
  readonly text: string;
  readonly source: string;
  readonly destination: string;
  /** Number of times that it was written to a connection. */
  tries: number;
  /** `lost`: given up after the last attempt, or because too many deliveries were waiting. */
  result: DeliveryResult;
};

export type LedgerEntry = SubmitEntry | DeliveryEntry;

export type StoredMessage = {
  readonly systemId: string;
  readonly id: MessageId;
  message: Message;
  readonly outcome: Outcome;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  current: ReceiptStep;
  /** Time of the last change of state, in milliseconds since the epoch. */
  doneAt: number;
};

/** The state of a message that was just accepted. */
export const ENROUTE: ReceiptStep = { stat: 'ENROUTE', state: 1, err: '000' };

/** The accepted messages; see `createMessageStore`. */
export type MessageStore = {
  add(stored: StoredMessage): void;
  /** Handles a query_sm, cancel_sm or replace_sm of an account. */
  query(systemId: string, pdu: PduOf<'query_sm'>): Pdu;
  cancel(systemId: string, pdu: PduOf<'cancel_sm'>): Pdu;
  replace(systemId: string, pdu: PduOf<'replace_sm'>): Pdu;
};

/**
 * Creates a store of (at least) the newest `keepMessages` messages for query_sm, cancel_sm and replace_sm. These
 * requests are rare compared with submits, so they search linearly: an index of the ids was the most expensive part of
 * a submit.
 */
export function createMessageStore(script: SandboxScript, ledger: LedgerWriter): MessageStore {
  let young: StoredMessage[] = [];
  let old: StoredMessage[] = [];

  function add(stored: StoredMessage): void {
    young.push(stored);
    if (young.length < Math.max(1, script.keepMessages)) return;
    old = young;
    young = [];
  }

  /** Finds a message by its id and source address, only for its own account. */
  function find(systemId: string, { messageId, source }: { messageId: string; source: string }): StoredMessage | null {
    const hasId = (one: StoredMessage): boolean => one.id.text === messageId;
    const stored = young.findLast(hasId) ?? old.findLast(hasId);
    return stored?.systemId === systemId && stored.message.source === source ? stored : null;
  }

  function query(systemId: string, pdu: PduOf<'query_sm'>): Pdu {
    ledger.count('queried');
    const stored = find(systemId, pdu);
    const final = stored !== null && FINAL_STATES.has(stored.current.state);
    return {
      command: 'query_sm_resp',
      status: stored ? STATUS.ESME_ROK : STATUS.ESME_RINVMSGID,
      sequence: pdu.sequence,
      messageId: stored?.id.text ?? '',
      finalDate: final ? absoluteTime(new Date(stored.doneAt)) : '',
      messageState: stored?.current.state ?? 0,
      errorCode: Number(stored?.current.err ?? 0),
    };
  }

  function cancel(systemId: string, pdu: PduOf<'cancel_sm'>): Pdu {
    const stored = find(systemId, pdu);
    const status = changeStatus(stored, STATUS.ESME_RCANCELFAIL);
    if (stored && status === STATUS.ESME_ROK) {
      ledger.count('cancelled');
      stored.current = DELETED;
      stored.doneAt = Date.now();
    }
    return { command: 'cancel_sm_resp', status, sequence: pdu.sequence };
  }

  function replace(systemId: string, pdu: PduOf<'replace_sm'>): Pdu {
    const stored = find(systemId, pdu);
    const status = changeStatus(stored, STATUS.ESME_RREPLACEFAIL);
    if (stored && status === STATUS.ESME_ROK) {
      ledger.count('replaced');
      stored.message = {
        ...stored.message,
        shortMessage: pdu.shortMessage,
        registeredDelivery: pdu.registeredDelivery,
      };
    }
    return { command: 'replace_sm_resp', status, sequence: pdu.sequence };
  }

  return { add, query, cancel, replace };
}

function changeStatus(stored: StoredMessage | null, tooLate: number): number {
  if (!stored) return STATUS.ESME_RINVMSGID;
  return FINAL_STATES.has(stored.current.state) ? tooLate : STATUS.ESME_ROK;
}

/** A message id as spelled in the response, with its number (0 for a UUID, which has none). */
export type MessageId = { readonly text: string; readonly number: number };

const PADDED_DIGITS = 16;

/** Creates a function that returns message ids and never repeats one; it reads the format from the script each time. */
export function createMessageIds(script: SandboxScript): () => MessageId {
  let number = script.firstId;
  return () => {
    if (script.idFormat === 'uuid') return { text: randomUUID(), number: 0 };
    const id = { text: spell(number, script.idFormat), number };
    number++;
    return id;
  };
}

function spell(number: number, format: Exclude<SandboxScript['idFormat'], 'uuid'>): string {
  if (format === 'decimal') return String(number);
  const hex = number.toString(16);
  if (format === 'hex-lower') return hex;
  return format === 'hex-upper' ? hex.toUpperCase() : hex.toUpperCase().padStart(PADDED_DIGITS, '0');
}

/**
 * Returns an id as spelled in a receipt. A UUID has no other base and no leading zeros, so only its case can differ.
 */
export function receiptId(id: string, number: number, script: SandboxScript): string {
  switch (script.receiptIdBase) {
    case 'same':
      return id;
    case 'other-case':
      return id === id.toLowerCase() ? id.toUpperCase() : id.toLowerCase();
    case 'zero-padded':
      return number > 0 ? id.padStart(PADDED_DIGITS + 4, '0') : id;
    case 'opposite':
      return number > 0 ? inOtherBase(number, script.idFormat) : id;
  }
}

function inOtherBase(number: number, format: SandboxScript['idFormat']): string {
  return format === 'decimal' ? number.toString(16).toUpperCase() : String(number);
}

/** A map that keeps the newest entries; see `createRecentMap`. */
type RecentMap<Value> = {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
};

/**
 * Creates a map that keeps at least the newest `limit` entries and at most twice as many: when a generation is full,
 * the previous one is dropped. Deleting the oldest entry at each insert took 7 µs instead, because a Map skips every
 * deleted entry to find its first one.
 */
export function createRecentMap<Value>(limit: () => number): RecentMap<Value> {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  return {
    get: (key) => young.get(key) ?? old.get(key),
    set(key, value) {
      young.set(key, value);
      if (young.size < Math.max(1, limit())) return;
      old = young;
      young = new Map();
    },
  };
}
