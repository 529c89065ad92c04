import type { DeliveryEntry, DeliveryResult, LedgerEntry, SubmitEntry } from './ledger-entries.ts';
import { type LedgerFile, openLedgerFile } from './ledger-file.ts';

const ZERO_COUNTS = {
  connections: 0,
  binds: 0,
  bindsRefused: 0,
  submits: 0,
  accepted: 0,
  refused: 0,
  /** Answers to submits given to an open connection. */
  answered: 0,
  receipts: 0,
  receiptsAcked: 0,
  receiptsRefused: 0,
  receiptsLost: 0,
  inbound: 0,
  inboundAcked: 0,
  inboundRefused: 0,
  inboundLost: 0,
  /** deliver_sm written, with every repetition. */
  deliverWrites: 0,
  queried: 0,
  cancelled: 0,
  replaced: 0,
  /** Breaches of the protocol by the client; their words are in `violations()`. */
  violations: 0,
};
export type Counts = { -readonly [Key in keyof typeof ZERO_COUNTS]: number };

export type LedgerOptions = {
  /** `counts` keeps no entry in memory: for benches and long runs. */
  readonly keep: 'entries' | 'counts';
  /** Appended as lines of JSON; `readLedgerFile` reads it back. Independent of `keep`. */
  readonly file?: string | undefined;
};

export type Ledger = {
  /** Everything that was kept, in order. Empty when only counts are kept. */
  entries(): readonly LedgerEntry[];
  submits(): SubmitEntry[];
  deliveries(kind: DeliveryEntry['kind']): DeliveryEntry[];
  counts(): Counts;
  /** How often each status answered a submit, by its name. */
  statuses(): Readonly<Record<string, number>>;
  /** The first breaches of the protocol by the client, in words; see `counts().violations` for all. */
  violations(): readonly string[];
  /** Brings what is buffered to the file. */
  flush(): void;
};

/** The writing side, for the sandbox itself. The `record…` functions return null when no entry is wanted. */
export type LedgerWriter = Ledger & {
  count(name: keyof Counts): void;
  violation(text: string): void;
  /** `details` is called only when an entry is wanted. */
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
 * The record of what the sandbox took, answered and delivered, written before the answer leaves. It is what a proof
 * compares the gateway's own account with. With neither entries nor a file only counters move.
 */
export function createLedger(options: LedgerOptions): LedgerWriter {
  const kept: LedgerEntry[] = [];
  const violations: string[] = [];
  const counts: Counts = { ...ZERO_COUNTS };
  const statuses: Record<string, number> = {};
  const file: LedgerFile | null = options.file ? openLedgerFile(options.file) : null;
  const wanted = file !== null || options.keep === 'entries';
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
      return wanted ? keep({ kind: 'submit', n: ++n, at: Date.now(), status, answered: false, ...details() }) : null;
    },
    recordAnswer(entry) {
      counts.answered++;
      if (!entry) return;
      entry.answered = true;
      file?.append({ kind: 'change', n: entry.n, answered: true });
    },
    recordDelivery(kind, details) {
      counts[kind === 'receipt' ? 'receipts' : 'inbound']++;
      return wanted ? keep({ kind, n: ++n, at: Date.now(), tries: 0, result: 'waiting', ...details() }) : null;
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
