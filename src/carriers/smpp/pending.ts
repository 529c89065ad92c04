import { COMMAND, type DecodeFailure, type Pdu } from './pdu.ts';

/** What became of one request. Every request gets exactly one answer. */
export type Answer =
  | { readonly kind: 'response'; readonly pdu: Pdu }
  /** A response came for it, but its body breaks the protocol. */
  | { readonly kind: 'unreadable'; readonly reason: string }
  | { readonly kind: 'timeout' }
  /** The connection ended first. `written` is false only when no octet of the request can have left this process. */
  | { readonly kind: 'closed'; readonly written: boolean };

type Waiting = {
  /** The command_id that its response has. */
  readonly responseId: number;
  /** Its place in the outbox. */
  readonly place: number;
  /** On the clock of `performance.now()`. */
  readonly deadline: number;
  readonly answer: (answer: Answer) => void;
};

export type Pending = {
  /** Takes a request; its `answer` is called exactly once. */
  add(sequence: number, request: Waiting): void;
  /** False when nothing waits for this response: it is late, doubled, or of another command. */
  respond(pdu: Pdu): boolean;
  fail(failure: DecodeFailure): boolean;
  expire(now: number): void;
  /** Answers everything that is left; `given` is the outbox's last place that the socket was given. */
  close(given: number): void;
  count(): number;
};

/** The requests of one connection that wait for their response, by sequence number. */
export function createPending(): Pending {
  const waiting = new Map<number, Waiting>();

  function settle(sequence: number, commandId: number, answer: Answer): boolean {
    const entry = waiting.get(sequence);
    if (!entry || (commandId !== entry.responseId && commandId !== COMMAND.generic_nack)) return false;
    waiting.delete(sequence);
    entry.answer(answer);
    return true;
  }

  /** A full pass: the window bounds the table, and requests of different kinds have different timeouts. */
  function expire(now: number): void {
    for (const [sequence, entry] of waiting) {
      if (entry.deadline > now) continue;
      waiting.delete(sequence);
      entry.answer({ kind: 'timeout' });
    }
  }

  function close(given: number): void {
    for (const [sequence, entry] of waiting) {
      waiting.delete(sequence);
      entry.answer({ kind: 'closed', written: entry.place <= given });
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
