import type { LedgerWriter } from './ledger.ts';
import type { Delivery, Outbox } from './outbox.ts';
import type { SandboxScript } from './script.ts';

export type DeliverWindow = {
  room(): boolean;
  deliver(delivery: Delivery): void;
  /** False when no deliver_sm with this sequence number waits for an answer. */
  answered(sequence: number, status: number): boolean;
  /** Takes back what has had no answer for `retryMs`. */
  sweep(): void;
  /** What has no answer, oldest first. */
  open(): Iterable<Delivery>;
};

/**
 * The deliver_sm of one session that wait for their answer: at most `deliverWindow`.
 * `send` gives the PDU to the connection and returns its sequence number.
 */
export function createDeliverWindow(
  script: SandboxScript,
  ledger: LedgerWriter,
  outbox: Outbox,
  send: (delivery: Delivery) => number,
): DeliverWindow {
  /** By sequence number; a Map keeps the order in which they were sent. */
  const inFlight = new Map<number, { readonly delivery: Delivery; readonly sentAt: number }>();

  return {
    room: () => inFlight.size < script.deliverWindow,
    deliver(delivery) {
      ledger.recordTry(delivery.entry);
      inFlight.set(send(delivery), { delivery, sentAt: performance.now() });
    },
    answered(sequence, status) {
      const sent = inFlight.get(sequence);
      if (!sent) return false;
      inFlight.delete(sequence);
      outbox.answered(sent.delivery, status);
      return true;
    },
    sweep() {
      const overdue = performance.now() - script.retryMs;
      for (const [sequence, sent] of inFlight) {
        if (sent.sentAt > overdue) return;
        inFlight.delete(sequence);
        outbox.answered(sent.delivery, null);
      }
    },
    open: () => [...inFlight.values()].map((sent) => sent.delivery),
  };
}
