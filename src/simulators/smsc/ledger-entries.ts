/** One submit_sm that reached the sandbox, taken or refused. */
export type SubmitEntry = {
  readonly kind: 'submit';
  /** Place in the ledger, from 1; shared with the deliveries. */
  readonly n: number;
  /** Milliseconds of the epoch. */
  readonly at: number;
  readonly session: number;
  readonly systemId: string;
  readonly sequence: number;
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  readonly esmClass: number;
  readonly dataCoding: number;
  /** Its user data as it came, header included, in hex. */
  readonly octets: string;
  readonly concat: { readonly ref: number; readonly total: number; readonly seq: number } | null;
  /** Null when it was refused. */
  readonly id: string | null;
  /** `ESME_ROK` when it was taken. */
  readonly status: string;
  /** The answer was given to an open connection. False while it waits, and for ever when it was dropped or cut. */
  answered: boolean;
};

export type DeliveryResult = 'waiting' | 'acked' | 'refused' | 'lost';

/** One deliver_sm of the sandbox: a receipt, or (a part of) an inbound message. */
export type DeliveryEntry = {
  readonly kind: 'receipt' | 'inbound';
  readonly n: number;
  readonly at: number;
  readonly systemId: string;
  /** The id as the receipt spells it, and as the response did (empty for a message that nobody submitted). */
  readonly receiptId: string;
  readonly id: string;
  /** The state's text (`DELIVRD`), or the text of an inbound message. */
  readonly text: string;
  readonly source: string;
  readonly destination: string;
  /** Times that it was written to a connection. */
  tries: number;
  /** `lost`: given up after the last try, or no room to wait for a session. */
  result: DeliveryResult;
};

export type LedgerEntry = SubmitEntry | DeliveryEntry;
