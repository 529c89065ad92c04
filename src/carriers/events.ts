import type { Channel } from '../platform/lib/channel.ts';

/**
 * Delivery states as carriers report them, normalised (protocol sheets smpp, section 11; whatsapp; rcs). READ says that
 * the message was delivered, too.
 */
export type ReceiptState =
  | 'ACCEPTED'
  | 'DELIVERED'
  | 'READ'
  | 'EXPIRED'
  | 'DELETED'
  | 'UNDELIVERABLE'
  | 'REJECTED'
  | 'ERROR'
  | 'DISABLED'
  | 'UNSUPPORTED'
  | 'CONVERSATION_CLOSED'
  | 'UNKNOWN';

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
  /** What only networks beyond SMS tell. */
  readonly rich?: RichInbound;
};

/** The kinds of inbound messages, as webhooks name them. */
export type InboundType =
  | 'TEXT'
  | 'IMAGE'
  | 'VIDEO'
  | 'AUDIO'
  | 'DOCUMENT'
  | 'STICKER'
  | 'LOCATION'
  | 'CONTACTS'
  | 'REACTION'
  | 'BUTTON'
  | 'OTHER';

export type RichInbound = {
  readonly channel: Channel;
  /** The network's id of it: the same id twice is one message. */
  readonly id: string;
  readonly messageType: InboundType;
  /** When the handset sent it. */
  readonly at: Date | null;
  /** The name that the person goes by there. */
  readonly profileName: string | null;
  readonly media: InboundMedia | null;
};

/** Where a file of an inbound message is: an id to ask the network for (WhatsApp), or an address to fetch (RBM). */
export type InboundMedia = {
  readonly id: string | null;
  readonly url: string | null;
  readonly mimeType: string | null;
  readonly fileName: string | null;
};
