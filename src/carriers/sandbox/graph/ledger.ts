/** One message that reached the sandbox, taken or refused. */
export type MessageEntry = {
  readonly kind: 'message';
  /** Place in the ledger, from 1; shared with the events. */
  readonly n: number;
  /** Milliseconds of the epoch. */
  readonly at: number;
  readonly phoneNumberId: string;
  /** The digits of the number, or the user id. */
  readonly to: string;
  readonly type: string;
  /** The object named after the type, as it came. */
  readonly content: unknown;
  /** The client's own id of it. */
  readonly opaque: string | null;
  /** Null when it was refused. */
  readonly id: string | null;
  /** 0 when it was taken. */
  readonly code: number;
  /** False for ever when the answer was held back. */
  answered: boolean;
};

export type EventResult = 'waiting' | 'acked' | 'lost';

/** One thing that the sandbox tells its client by a callback. */
export type EventEntry = {
  readonly kind: 'status' | 'inbound' | 'template';
  readonly n: number;
  readonly at: number;
  /** The message, or the template, that it is about. */
  readonly id: string;
  /** The status, the type of the inbound message, or the event of the template. */
  readonly what: string;
  /** Times that a callback with it was sent. */
  tries: number;
  /** `lost`: given up after the last try, or no room to wait. */
  result: EventResult;
};

export type LedgerEntry = MessageEntry | EventEntry;

const ZERO_COUNTS = {
  requests: 0,
  messages: 0,
  accepted: 0,
  refused: 0,
  /** Requests that showed no token, or another one. */
  unauthorized: 0,
  statuses: 0,
  inbounds: 0,
  templates: 0,
  acked: 0,
  lost: 0,
  /** Callback requests that were sent, with every repetition, and those answered with 200. */
  callbacks: 0,
  callbacksAcked: 0,
  /** Bytes of media that were fetched. */
  downloads: 0,
};
export type Counts = { -readonly [Key in keyof typeof ZERO_COUNTS]: number };

/** The record of what the sandbox took, answered and told: what a proof compares the gateway's own account with. */
export type Ledger = {
  /** Everything that was kept, in order. Empty when only counts are kept. */
  entries(): readonly LedgerEntry[];
  messages(): MessageEntry[];
  events(): EventEntry[];
  counts(): Counts;
  /** How often each code refused a message. */
  codes(): Readonly<Record<number, number>>;
};

/** The writing side, for the sandbox itself. The `record…` functions return null when no entry is kept. */
export type LedgerWriter = Ledger & {
  count(name: keyof Counts, by?: number): void;
  recordMessage(message: Omit<MessageEntry, 'kind' | 'n' | 'at' | 'answered'>): MessageEntry | null;
  recordEvent(event: Pick<EventEntry, 'kind' | 'id' | 'what'>): EventEntry | null;
  recordResult(entry: EventEntry | null, result: 'acked' | 'lost'): void;
};

const COUNTER = { status: 'statuses', inbound: 'inbounds', template: 'templates' } as const;

/** With `counts` no entry is kept: for benches and long runs. */
export function createLedger(keep: 'entries' | 'counts'): LedgerWriter {
  const kept: LedgerEntry[] = [];
  const counts: Counts = { ...ZERO_COUNTS };
  const codes: Record<number, number> = {};
  let n = 0;

  function put<Entry extends LedgerEntry>(entry: Entry): Entry | null {
    if (keep === 'counts') return null;
    kept.push(entry);
    return entry;
  }

  return {
    entries: () => kept,
    messages: () => kept.filter((entry) => entry.kind === 'message'),
    events: () => kept.filter((entry) => entry.kind !== 'message'),
    counts: () => ({ ...counts }),
    codes: () => ({ ...codes }),
    count(name, by = 1) {
      counts[name] += by;
    },
    recordMessage(message) {
      counts.messages += 1;
      counts[message.code === 0 ? 'accepted' : 'refused'] += 1;
      if (message.code !== 0) codes[message.code] = (codes[message.code] ?? 0) + 1;
      return put({ kind: 'message', n: ++n, at: Date.now(), answered: false, ...message });
    },
    recordEvent(event) {
      counts[COUNTER[event.kind]] += 1;
      return put({ n: ++n, at: Date.now(), tries: 0, result: 'waiting', ...event });
    },
    recordResult(entry, result) {
      counts[result] += 1;
      if (entry) entry.result = result;
    },
  };
}
