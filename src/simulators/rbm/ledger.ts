import { type BookReading, createBook, type EventEntry as EventOf, type Stamp } from '../http/book.ts';

/** One message that reached the sandbox, taken or refused. */
export type MessageEntry = Stamp & {
  readonly kind: 'message';
  readonly agentId: string;
  /** E.164 with the plus. */
  readonly destination: string;
  readonly messageId: string;
  /** The AgentMessage as it came; null when it was no JSON. */
  readonly message: unknown;
  /** `OK` when it was taken. */
  readonly status: string;
  /** Requests with its id after it was taken: nothing comes of them. */
  repeats: number;
  /** It was shown on the handset, at the latest when this was told. */
  delivered: boolean;
  /** It was taken back before it was shown. */
  revoked: boolean;
};

/** An event of a message, or what a person sent: a message of that type with an id of its own, or a first call. */
export type EventEntry = EventOf<'event' | 'inbound' | 'launch'>;

const ZERO_COUNTS = {
  requests: 0,
  messages: 0,
  accepted: 0,
  refused: 0,
  /** Requests with an id that was taken already. */
  repeats: 0,
  tokens: 0,
  tokensRefused: 0,
  /** Requests that showed no token, or one that does not count. */
  unauthorized: 0,
  revoked: 0,
  revokesRefused: 0,
  capabilityChecks: 0,
  batchChecks: 0,
  events: 0,
  inbounds: 0,
  launches: 0,
  acked: 0,
  lost: 0,
  /** Callback requests that were sent, with every repetition. */
  callbacks: 0,
};
type Counter = keyof typeof ZERO_COUNTS;

/** The record of what the sandbox took, answered and told: what a proof compares the gateway's own account with. */
export type Ledger = BookReading<MessageEntry, EventEntry, Counter> & {
  /** How often each status answered a message. */
  statuses(): Readonly<Record<string, number>>;
};

/** The writing side, for the sandbox itself. The `record…` functions return null when no entry is kept. */
export type LedgerWriter = Ledger & {
  count(name: Counter, by?: number): void;
  recordMessage(
    message: Pick<MessageEntry, 'agentId' | 'destination' | 'messageId' | 'message' | 'status'>,
  ): MessageEntry | null;
  recordEvent(event: Pick<EventEntry, 'kind' | 'id' | 'what'>): EventEntry | null;
  recordResult(entry: EventEntry | null, result: { readonly acked: boolean; readonly tries: number }): void;
};

const COUNTER = { event: 'events', inbound: 'inbounds', launch: 'launches' } as const;

/** With `counts` no entry is kept: for benches and long runs. */
export function createLedger(keep: 'entries' | 'counts'): LedgerWriter {
  const book = createBook<MessageEntry, EventEntry['kind'], Counter>(keep, ZERO_COUNTS, COUNTER);
  const { count, put, stamp, recordEvent } = book;
  return {
    ...book.reading,
    statuses: () => ({ ...book.answers }),
    count,
    recordEvent,
    recordMessage(message) {
      count('messages');
      count(message.status === 'OK' ? 'accepted' : 'refused');
      book.countAnswer(message.status);
      const fate = { repeats: 0, delivered: false, revoked: false };
      return put({ kind: 'message', ...stamp(), ...message, ...fate });
    },
    recordResult(entry, { acked, tries }) {
      count('callbacks', tries);
      count(acked ? 'acked' : 'lost');
      if (entry) Object.assign(entry, { tries, result: acked ? 'acked' : 'lost' });
    },
  };
}
