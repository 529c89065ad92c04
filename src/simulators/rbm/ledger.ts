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
  readonly agentId: string;
  /** E.164 with the plus sign. */
  readonly destination: string;
  readonly messageId: string;
  /** The AgentMessage as received; undefined when it was not JSON. */
  readonly message: unknown;
  /** The error status; `OK` when the message was accepted. */
  readonly status: string;
  /** Further requests with the same id, which have no effect. */
  repeats: number;
  /** True if the message reached the handset; set at the latest when this was reported. */
  delivered: boolean;
  /** True if the message was revoked before it was shown. */
  revoked: boolean;
};

type EventKind = 'event' | 'inbound' | 'launch';
/** An event of a message, an inbound message with its own id, or a change of an agent's launch state. */
export type EventEntry = EventOf<EventKind>;

const ZERO_COUNTS = {
  requests: 0,
  messages: 0,
  accepted: 0,
  refused: 0,
  /** Requests with an id that was accepted already. */
  repeats: 0,
  tokens: 0,
  tokensRefused: 0,
  /** Requests without a token, or with an invalid one. */
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
  /** Callback requests that were sent, repetitions included. */
  callbacks: 0,
};
type Counter = keyof typeof ZERO_COUNTS;

/**
 * The record of all messages, responses and callbacks of the simulator, with which a proof compares the gateway's data.
 */
export type Ledger = HttpLedger<MessageEntry, EventKind, Counter> & {
  /** Returns the number of responses to messages per status. */
  statuses(): Readonly<Record<string, number>>;
};

/** The writing side, for the simulator itself. */
export type LedgerWriter = Ledger &
  HttpLedgerWriter<MessageEntry, EventKind, Counter> & {
    /** Records a message; returns null when no entries are kept. */
    recordMessage(
      message: Pick<MessageEntry, 'agentId' | 'destination' | 'messageId' | 'message' | 'status'>,
    ): MessageEntry | null;
  };

const COUNTER_OF = { event: 'events', inbound: 'inbounds', launch: 'launches' } as const;

/** Creates a ledger. With `counts` it keeps no entries in memory: for benches and long runs. */
export function createLedger(keep: 'entries' | 'counts'): LedgerWriter {
  const { writer, addMessage, answers } = createHttpLedger<MessageEntry, EventKind, Counter>({
    keep,
    zero: ZERO_COUNTS,
    counterOf: COUNTER_OF,
  });
  return {
    ...writer,
    statuses: answers,
    recordMessage: (message) =>
      addMessage(message.status === 'OK', message.status, (stamp) => ({
        kind: 'message',
        ...stamp,
        ...message,
        repeats: 0,
        delivered: false,
        revoked: false,
      })),
  };
}
