/** Delivery states as carriers report them, normalised (protocol sheet smpp, section 11). */
export type ReceiptState = 'ACCEPTED' | 'DELIVERED' | 'EXPIRED' | 'DELETED' | 'UNDELIVERABLE' | 'REJECTED' | 'UNKNOWN';

/** One delivery receipt, normalised; `raw` keeps the carrier's own words. */
export type Receipt = {
  /** The spellings of the id that the receipt holds, best first: TLV, then text. Never empty. */
  readonly carrierIds: readonly string[];
  readonly state: ReceiptState;
  /** When the carrier says that it happened; null when it says nothing readable. */
  readonly doneAt: Date | null;
  readonly errorCode: string | null;
  /** The handset's number as digits, as the carrier wrote it. */
  readonly destination: string;
  readonly sender: string;
  readonly raw: string;
};

/** One inbound message or part (MO). Parts are put together by the receiver, not by the carrier. */
export type Inbound = {
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  readonly concat: { readonly ref: number; readonly total: number; readonly seq: number } | null;
  readonly raw: Uint8Array;
};
