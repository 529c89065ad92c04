import {
  createHttpLedger,
  type EventEntry as EventOf,
  type HttpLedger,
  type HttpLedgerWriter,
  type Stamp,
} from '../http/ledger.ts';

/** One message that reached the simulator, accepted or rejected. */
export type MessageEntry = Stamp & {
  readonly kind: 'message';
  readonly phoneNumberId: string;
  /** The recipient: a number in digits, or a user id. */
  readonly to: string;
  readonly type: string;
  /** The object named after the type, as received. */
  readonly content: unknown;
  /** The client's own id of the message. */
  readonly opaque: string | null;
  /** The network's id; null when the message was rejected. */
  readonly id: string | null;
  /** The error code; 0 when the message was accepted. */
  readonly code: number;
  /** True if the response was sent; stays false when it was withheld. */
  answered: boolean;
};

type EventKind = 'status' | 'inbound' | 'template';
/** A status of a message, an inbound message, or a change of a template. */
export type EventEntry = EventOf<EventKind>;

const ZERO_COUNTS = {
  requests: 0,
  messages: 0,
  accepted: 0,
  refused: 0,
  /** Requests without a token, or with a wrong one. */
  unauthorized: 0,
  statuses: 0,
  inbounds: 0,
  templates: 0,
  acked: 0,
  lost: 0,
  /** Callback requests that were sent, including retries, and those that got a 200. */
  callbacks: 0,
  callbacksAcked: 0,
  /** Bytes of media that were downloaded. */
  downloads: 0,
};
type Counter = keyof typeof ZERO_COUNTS;

/**
 * The record of all messages, responses and callbacks of the simulator, with which a proof compares the gateway's data.
 */
export type Ledger = HttpLedger<MessageEntry, EventKind, Counter> & {
  /** Returns the number of rejected messages per error code. */
  codes(): Readonly<Record<number, number>>;
};

/** The writing side, for the simulator itself. */
export type LedgerWriter = Ledger &
  HttpLedgerWriter<MessageEntry, EventKind, Counter> & {
    /** Records a message; returns null when no entries are kept. */
    recordMessage(message: Omit<MessageEntry, 'kind' | 'n' | 'at' | 'answered'>): MessageEntry | null;
  };

const COUNTER_OF = { status: 'statuses', inbound: 'inbounds', template: 'templates' } as const;

/** Creates a ledger. With `counts` it keeps no entries in memory: for benches and long runs. */
export function createLedger(keep: 'entries' | 'counts'): LedgerWriter {
  const { writer, addMessage, answers } = createHttpLedger<MessageEntry, EventKind, Counter>({
    keep,
    zero: ZERO_COUNTS,
    counterOf: COUNTER_OF,
  });
  return {
    ...writer,
    codes: answers,
    recordMessage: (message) =>
      addMessage(message.code === 0, message.code === 0 ? null : message.code, (stamp) => ({
        kind: 'message',
        ...stamp,
        answered: false,
        ...message,
      })),
  };
}
