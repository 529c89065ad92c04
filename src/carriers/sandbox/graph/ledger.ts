import { createBook, type EventResult } from '../http/book.ts';

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
  const book = createBook<MessageEntry, EventEntry, keyof Counts>(keep, ZERO_COUNTS);
  const { count, put, stamp } = book;
  return {
    ...book.reading,
    codes: () => ({ ...book.answers }),
    count,
    recordMessage(message) {
      count('messages');
      count(message.code === 0 ? 'accepted' : 'refused');
      if (message.code !== 0) book.countAnswer(message.code);
      return put({ kind: 'message', ...stamp(), answered: false, ...message });
    },
    recordEvent(event) {
      count(COUNTER[event.kind]);
      return put({ ...stamp(), tries: 0, result: 'waiting', ...event });
    },
    recordResult(entry, result) {
      count(result);
      if (entry) entry.result = result;
    },
  };
}
