import { randomUUID } from 'node:crypto';
import { closeSync, createReadStream, fstatSync, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { absoluteTime } from '../smpp/message.ts';
import type { Message, Pdu, PduOf } from '../smpp/pdu.ts';
import { STATUS } from '../smpp/status.ts';
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

/** Content and location of a ledger. */
export type LedgerOptions = {
  /** `counts` keeps no entries in memory: for benches and long runs. */
  readonly keep: 'entries' | 'counts';
  /** A file to which entries are appended as lines of JSON, for `readLedgerFile`. Independent of `keep`. */
  readonly file?: string | undefined;
};

/** The reading side of the simulator's ledger. */
export type Ledger = {
  /** Returns all entries in order; an empty list when only counts are kept. */
  entries(): readonly LedgerEntry[];
  submits(): SubmitEntry[];
  deliveries(kind: DeliveryEntry['kind']): DeliveryEntry[];
  counts(): Counts;
  /** Returns the number of responses to submits per status, by its name. */
  statuses(): Readonly<Record<string, number>>;
  /** Returns descriptions of the client's first 100 protocol violations; `counts().violations` counts all. */
  violations(): readonly string[];
  /** Writes the buffer to the file. */
  flush(): void;
};

/** The writing side, for the simulator itself. The `record…` functions return null when no entry is kept. */
export type LedgerWriter = Ledger & {
  count(name: keyof Counts): void;
  violation(text: string): void;
  /** Records a submit; `details` is called only when an entry is kept. */
  recordSubmit(
    status: string,
    details: () => Omit<SubmitEntry, 'kind' | 'n' | 'at' | 'status' | 'answered'>,
  ): SubmitEntry | null;
  recordAnswer(entry: SubmitEntry | null): void;
  recordDelivery(
    kind: DeliveryEntry['kind'],
    details: () => Omit<DeliveryEntry, 'kind' | 'n' | 'at' | 'tries' | 'result'>,
  ): DeliveryEntry | null;
  recordTry(entry: DeliveryEntry | null): void;
  recordResult(kind: DeliveryEntry['kind'], entry: DeliveryEntry | null, result: DeliveryResult): void;
  close(): void;
};

const MAX_VIOLATIONS = 100;

/**
 * Creates the record of all submits, responses and deliveries, written before the response is sent. A proof compares
 * the gateway's data with it. With neither entries nor a file it only counts.
 */
export function createLedger(options: LedgerOptions): LedgerWriter {
  const kept: LedgerEntry[] = [];
  const violations: string[] = [];
  const counts: Counts = { ...ZERO_COUNTS };
  const statuses: Record<string, number> = {};
  const file: LedgerFile | null = options.file ? openLedgerFile(options.file) : null;
  const keepsEntries = file !== null || options.keep === 'entries';
  let n = 0;

  function keep<Entry extends LedgerEntry>(entry: Entry): Entry {
    if (options.keep === 'entries') kept.push(entry);
    file?.append(entry);
    return entry;
  }

  const writer: LedgerWriter = {
    entries: () => kept,
    submits: () => kept.filter((entry) => entry.kind === 'submit'),
    deliveries: (kind) => kept.filter((entry): entry is DeliveryEntry => entry.kind === kind),
    counts: () => ({ ...counts }),
    statuses: () => ({ ...statuses }),
    violations: () => violations,
    flush: () => file?.flush(),
    close: () => file?.close(),

    count(name) {
      counts[name]++;
    },
    violation(text) {
      counts.violations++;
      if (violations.length < MAX_VIOLATIONS) violations.push(text);
    },
    recordSubmit(status, details) {
      counts.submits++;
      counts[status === 'ESME_ROK' ? 'accepted' : 'refused']++;
      statuses[status] = (statuses[status] ?? 0) + 1;
      return keepsEntries
        ? keep({ kind: 'submit', n: ++n, at: Date.now(), status, answered: false, ...details() })
        : null;
    },
    recordAnswer(entry) {
      counts.answered++;
      if (!entry) return;
      entry.answered = true;
      file?.append({ kind: 'change', n: entry.n, answered: true });
    },
    recordDelivery(kind, details) {
      counts[kind === 'receipt' ? 'receipts' : 'inbound']++;
      return keepsEntries ? keep({ kind, n: ++n, at: Date.now(), tries: 0, result: 'waiting', ...details() }) : null;
    },
    recordTry(entry) {
      counts.deliverWrites++;
      if (entry) entry.tries++;
    },
    recordResult(kind, entry, result) {
      const counter = RESULT_COUNTERS[kind][result];
      if (counter) counts[counter]++;
      if (!entry) return;
      entry.result = result;
      file?.append({ kind: 'change', n: entry.n, tries: entry.tries, result });
    },
  };
  return writer;
}

const RESULT_COUNTERS: Record<DeliveryEntry['kind'], Record<DeliveryResult, keyof Counts | null>> = {
  receipt: { waiting: null, acked: 'receiptsAcked', refused: 'receiptsRefused', lost: 'receiptsLost' },
  inbound: { waiting: null, acked: 'inboundAcked', refused: 'inboundRefused', lost: 'inboundLost' },
};

/** One submit_sm that reached the simulator, accepted or rejected. */
export type SubmitEntry = {
  readonly kind: 'submit';
  /** Position in the ledger, from 1; submits and deliveries share the numbers. */
  readonly n: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
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
export type DeliveryEntry = {
  readonly kind: 'receipt' | 'inbound';
  readonly n: number;
  readonly at: number;
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

type LedgerEntry = SubmitEntry | DeliveryEntry;

/** A change of an entry after its own line. */
type Change = { readonly kind: 'change'; readonly n: number; readonly [field: string]: unknown };
/** The start of a run of the simulator, whose entries count from 1 again. */
type Start = { readonly kind: 'start'; readonly at: number };

type LedgerFile = {
  append(line: LedgerEntry | Change): void;
  /** Writes the buffer to the file. */
  flush(): void;
  close(): void;
};

const BUFFER_CHARACTERS = 64 * 1024;
const FLUSH_MS = 50;

/**
 * Opens a file to append lines of JSON, through a buffer of 64 KiB that is written when it is full or 50 ms after its
 * first line. Writes are synchronous: they go to the page cache (tens of microseconds), stay in order, and limit the
 * memory.
 */
function openLedgerFile(path: string): LedgerFile {
  const file = openSync(path, 'a', 0o600);
  const start: Start = { kind: 'start', at: Date.now() };
  // A killed run may have left an incomplete line: the new run must not continue it.
  let buffer = `${fstatSync(file).size > 0 ? '\n' : ''}${JSON.stringify(start)}\n`;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (buffer !== '') writeSync(file, buffer);
    buffer = '';
  }

  return {
    append(line) {
      if (closed) return;
      buffer += `${JSON.stringify(line)}\n`;
      if (buffer.length >= BUFFER_CHARACTERS) flush();
      else timer ??= setTimeout(flush, FLUSH_MS);
    },
    flush: () => (closed ? undefined : flush()),
    close() {
      if (closed) return;
      flush();
      closed = true;
      closeSync(file);
    },
  };
}

/**
 * Reads the entries of all runs in a ledger file, in order, with their changes applied. `n` counts within a run. A line
 * that a kill left incomplete is skipped.
 */
export async function readLedgerFile(path: string): Promise<LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  let earlier = 0;
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const line = parseLine(text);
    if (line?.kind === 'start') earlier = entries.length;
    else if (line?.kind === 'change') applyChange(entries[earlier + line.n - 1], line);
    else if (line) entries.push(line);
  }
  return entries;
}

function applyChange(entry: LedgerEntry | undefined, line: Change): void {
  if (entry) Object.assign(entry, line, { kind: entry.kind });
}

function parseLine(text: string): LedgerEntry | Change | Start | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

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
