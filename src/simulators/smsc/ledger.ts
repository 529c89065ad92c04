import type { DeliveryEntry, DeliveryResult, LedgerEntry, SubmitEntry } from './ledger-entries.ts';
import { type LedgerFile, openLedgerFile } from './ledger-file.ts';

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
