import { COMMAND, type DecodeFailure, type Pdu } from './pdu.ts';

/** The result of one request. Every request gets exactly one. */
export type Answer =
  | { readonly kind: 'response'; readonly pdu: Pdu }
  /** A response arrived, but its body violates the protocol. */
  | { readonly kind: 'unreadable'; readonly reason: string }
  | { readonly kind: 'timeout' }
  /** The connection ended first. `written` is false only if no octet of the request can have left this process. */
  | { readonly kind: 'closed'; readonly written: boolean };

type PendingRequest = {
  /** The command_id of the expected response. */
  readonly responseId: number;
  /** Its position in the outbox. */
  readonly position: number;
  /** Deadline on the clock of `performance.now()`. */
  readonly deadline: number;
  readonly onAnswer: (answer: Answer) => void;
};

/** The open requests of one connection. */
export type Pending = {
  /** Adds a request; its `onAnswer` is called exactly once. */
  add(sequence: number, request: PendingRequest): void;
  /**
   * Settles the request of this response; false when none matches: the response is late, duplicate, or for another
   * command.
   */
  respond(pdu: Pdu): boolean;
  /** Settles the request of an unreadable response; false when none matches. */
  fail(failure: DecodeFailure): boolean;
  /** Settles the requests whose deadline has passed with `timeout`. */
  expire(now: number): void;
  /**
   * Settles all remaining requests with `closed`; `lastHandedOver` is the last outbox position that the socket
   * received.
   */
  close(lastHandedOver: number): void;
  /** Returns the number of open requests. */
  count(): number;
};

/** Creates the table of requests that wait for their response, by sequence number. */
export function createPending(): Pending {
  const waiting = new Map<number, PendingRequest>();

  function settle(sequence: number, commandId: number, answer: Answer): boolean {
    const entry = waiting.get(sequence);
    if (!entry || (commandId !== entry.responseId && commandId !== COMMAND.generic_nack)) return false;
    waiting.delete(sequence);
    entry.onAnswer(answer);
    return true;
  }

  /** Scans all requests: the window bounds the table, and different kinds of requests have different timeouts. */
  function expire(now: number): void {
    for (const [sequence, entry] of waiting) {
      if (entry.deadline > now) continue;
      waiting.delete(sequence);
      entry.onAnswer({ kind: 'timeout' });
    }
  }

  function close(lastHandedOver: number): void {
    for (const [sequence, entry] of waiting) {
      waiting.delete(sequence);
      entry.onAnswer({ kind: 'closed', written: entry.position <= lastHandedOver });
    }
  }

  return {
    add: (sequence, request) => void waiting.set(sequence, request),
    respond: (pdu) => settle(pdu.sequence, COMMAND[pdu.command], { kind: 'response', pdu }),
    fail: ({ sequence, commandId, reason }) => settle(sequence, commandId, { kind: 'unreadable', reason }),
    expire,
    close,
    count: () => waiting.size,
  };
}
