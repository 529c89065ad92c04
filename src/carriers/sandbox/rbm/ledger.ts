import { createBook, type EventResult } from '../http/book.ts';

/** One message that reached the sandbox, taken or refused. */
export type MessageEntry = {
  readonly kind: 'message';
  /** Place in the ledger, from 1; shared with the events. */
  readonly n: number;
  /** Milliseconds of the epoch. */
  readonly at: number;
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

/** One thing that the sandbox tells its client by a callback. */
export type EventEntry = {
  readonly kind: 'event' | 'inbound' | 'launch';
  readonly n: number;
  readonly at: number;
  /** The message that it is about; of an inbound message its own id. */
  readonly id: string;
  /** The type of the event, or of the inbound message. */
  readonly what: string;
  /** Times that it was sent. */
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
export type Counts = { -readonly [Key in keyof typeof ZERO_COUNTS]: number };

/** The record of what the sandbox took, answered and told: what a proof compares the gateway's own account with. */
export type Ledger = {
  /** Everything that was kept, in order. Empty when only counts are kept. */
  entries(): readonly LedgerEntry[];
  messages(): MessageEntry[];
  events(): EventEntry[];
  counts(): Counts;
  /** How often each status answered a message. */
  statuses(): Readonly<Record<string, number>>;
};

/** The writing side, for the sandbox itself. The `record…` functions return null when no entry is kept. */
export type LedgerWriter = Ledger & {
  count(name: keyof Counts, by?: number): void;
  recordMessage(
    message: Pick<MessageEntry, 'agentId' | 'destination' | 'messageId' | 'message' | 'status'>,
  ): MessageEntry | null;
  recordEvent(event: Pick<EventEntry, 'kind' | 'id' | 'what'>): EventEntry | null;
  recordResult(entry: EventEntry | null, result: { readonly acked: boolean; readonly tries: number }): void;
};

const COUNTER = { event: 'events', inbound: 'inbounds', launch: 'launches' } as const;

/** With `counts` no entry is kept: for benches and long runs. */
export function createLedger(keep: 'entries' | 'counts'): LedgerWriter {
  const book = createBook<MessageEntry, EventEntry, keyof Counts>(keep, ZERO_COUNTS);
  const { count, put, stamp } = book;
  return {
    ...book.reading,
    statuses: () => ({ ...book.answers }),
    count,
    recordMessage(message) {
      count('messages');
      count(message.status === 'OK' ? 'accepted' : 'refused');
      book.countAnswer(message.status);
      const fate = { repeats: 0, delivered: false, revoked: false };
      return put({ kind: 'message', ...stamp(), ...message, ...fate });
    },
    recordEvent(event) {
      count(COUNTER[event.kind]);
      return put({ ...stamp(), tries: 0, result: 'waiting', ...event });
    },
    recordResult(entry, { acked, tries }) {
      count('callbacks', tries);
      count(acked ? 'acked' : 'lost');
      if (entry) Object.assign(entry, { tries, result: acked ? 'acked' : 'lost' });
    },
  };
}
