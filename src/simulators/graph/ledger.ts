import { type BookReading, createBook, type EventEntry as EventOf, type Stamp } from '../http/book.ts';

/** One message that reached the sandbox, taken or refused. */
export type MessageEntry = Stamp & {
  readonly kind: 'message';
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

/** A status of a message, an inbound message of that type, or what has become of a template. */
export type EventEntry = EventOf<'status' | 'inbound' | 'template'>;

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
type Counter = keyof typeof ZERO_COUNTS;

/** The record of what the sandbox took, answered and told: what a proof compares the gateway's own account with. */
export type Ledger = BookReading<MessageEntry, EventEntry, Counter> & {
  /** How often each code refused a message. */
  codes(): Readonly<Record<number, number>>;
};

/** The writing side, for the sandbox itself. The `record…` functions return null when no entry is kept. */
export type LedgerWriter = Ledger & {
  count(name: Counter, by?: number): void;
  recordMessage(message: Omit<MessageEntry, 'kind' | 'n' | 'at' | 'answered'>): MessageEntry | null;
  recordEvent(event: Pick<EventEntry, 'kind' | 'id' | 'what'>): EventEntry | null;
  recordResult(entry: EventEntry | null, result: 'acked' | 'lost'): void;
};

const COUNTER = { status: 'statuses', inbound: 'inbounds', template: 'templates' } as const;

/** With `counts` no entry is kept: for benches and long runs. */
export function createLedger(keep: 'entries' | 'counts'): LedgerWriter {
  const book = createBook<MessageEntry, EventEntry['kind'], Counter>(keep, ZERO_COUNTS, COUNTER);
  const { count, put, stamp, recordEvent } = book;
  return {
    ...book.reading,
    codes: () => ({ ...book.answers }),
    count,
    recordEvent,
    recordMessage(message) {
      count('messages');
      count(message.code === 0 ? 'accepted' : 'refused');
      if (message.code !== 0) book.countAnswer(message.code);
      return put({ kind: 'message', ...stamp(), answered: false, ...message });
    },
    recordResult(entry, result) {
      count(result);
      if (entry) entry.result = result;
    },
  };
}
