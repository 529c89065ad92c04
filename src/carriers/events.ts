import type { Channel } from '../platform/lib/channel.ts';

/**
 * The delivery states that carriers report, normalised. READ implies
 * that the message was delivered.
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

/** One normalised delivery receipt; `raw` keeps the carrier's own text. */
export type Receipt = {
  /** The message ids in the receipt, the most reliable one first: from the TLV, then from the text. Never empty. */
  readonly carrierIds: readonly string[];
  readonly state: ReceiptState;
  /** Time at which the state was reached according to the carrier; null if the receipt holds no readable time. */
  readonly doneAt: Date | null;
  readonly errorCode: string | null;
  /** The handset's number in digits, as the carrier wrote it. */
  readonly destination: string;
  readonly sender: string;
  readonly raw: string;
};

/** One inbound message (MO), or one part of it. The host joins the parts, not the carrier. */
export type Inbound = {
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  readonly concat: { readonly ref: number; readonly total: number; readonly seq: number } | null;
  readonly raw: Uint8Array;
  /** Details that only networks other than SMS provide. */
  readonly rich?: RichInbound;
};

/** The types of inbound messages, under the names that webhooks use. */
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

/** The details of an inbound WhatsApp or RCS message that SMS does not have. */
export type RichInbound = {
  readonly channel: Channel;
  /** The message id that the network assigned: the same id twice is the same message. */
  readonly id: string;
  readonly messageType: InboundType;
  /** Time at which the handset sent the message. */
  readonly at: Date | null;
  /** The name in the person's profile. */
  readonly profileName: string | null;
  /** The account's number that the message was sent to, in digits, if the network identifies it by an id (WhatsApp). */
  readonly ownNumber: string | null;
  readonly media: InboundMedia | null;
};

/** Location of the file of an inbound message: an id to look up at the network (WhatsApp), or a URL to fetch (RBM). */
export type InboundMedia = {
  readonly id: string | null;
  readonly url: string | null;
  readonly mimeType: string | null;
  readonly fileName: string | null;
};

/** Report of a carrier about our account or one of our senders, for the operator. */
export type Notice = {
  /** Topic of the notice; a newer notice of the same subject replaces it. */
  readonly subject: string;
  /** Text in the words of the network. */
  readonly text: string;
  /** True if action is required. */
  readonly serious: boolean;
};
