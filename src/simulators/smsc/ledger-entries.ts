/** One submit_sm that reached the simulator, accepted or rejected. */
export type SubmitEntry = {
  readonly kind: 'submit';
  /** Position in the ledger, from 1; submits and deliveries share the numbers. */
  readonly n: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly session: number;
  readonly systemId: string;
  readonly sequence: number;
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  readonly esmClass: number;
  readonly dataCoding: number;
  /** The user data as received, header included, in hexadecimal. */
  readonly octets: string;
  readonly concat: { readonly ref: number; readonly total: number; readonly seq: number } | null;
  /** The message id; null when the submit was rejected. */
  readonly id: string | null;
  /** The name of the status; `ESME_ROK` when the submit was accepted. */
  readonly status: string;
  /**
   * True if the response was written to an open connection; stays false when it was dropped or the connection was cut.
   */
  answered: boolean;
};

/** Result of a delivery, or `waiting`. */
export type DeliveryResult = 'waiting' | 'acked' | 'refused' | 'lost';

/** One deliver_sm of the simulator: a receipt, or (a part of) an inbound message. */
export type DeliveryEntry = {
  readonly kind: 'receipt' | 'inbound';
  readonly n: number;
  readonly at: number;
  readonly systemId: string;
  /** The message id as spelled in the receipt. */
  readonly receiptId: string;
  /** The message id as spelled in the response; empty for a message that was never submitted. */
  readonly id: string;
  /** The state as text (`DELIVRD`), or the text of an inbound message. */
  readonly text: string;
  readonly source: string;
  readonly destination: string;
  /** Number of times that it was written to a connection. */
  tries: number;
  /** `lost`: given up after the last attempt, or because too many deliveries were waiting. */
  result: DeliveryResult;
};

/** Any entry of the ledger. */
export type LedgerEntry = SubmitEntry | DeliveryEntry;
