import type { LedgerWriter } from './ledger.ts';
import type { Delivery, Outbox } from './outbox.ts';
import type { SandboxScript } from './script.ts';

/** The deliver_sm of one session that wait for their response. */
export type DeliverWindow = {
  /** Returns true if another deliver_sm may be sent. */
  room(): boolean;
  deliver(delivery: Delivery): void;
  /** Settles a deliver_sm; returns false when none with this sequence number waits for a response. */
  answered(sequence: number, status: number): boolean;
  /** Returns deliveries without a response for `retryMs` to the outbox. */
  sweep(): void;
  /** Returns the unanswered deliveries, oldest first. */
  open(): Iterable<Delivery>;
};

/**
 * Creates the window of one session with room for `deliverWindow` unanswered deliver_sm. `send` passes the PDU to the
 * connection and returns its sequence number.
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
