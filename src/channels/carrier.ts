import type { Channel } from '../core/channels.ts';
import type { InboundContent } from './inbound-content.ts';
import type { OwnFile } from './settings.ts';
import type { Pace } from './throttle.ts';

/** One message as a carrier needs it: complete and validated, so that the carrier has nothing to look up. */
export type Submission = {
  readonly messageId: string;
  /** E.164 with the leading plus sign. */
  readonly destination: string;
  /**
   * SMS: 1 to 11 alphanumeric characters, or digits (a number or a short code); an empty string lets the carrier
   * choose. WhatsApp: the phone number id. RCS: the agent id.
   */
  readonly sender: string;
  readonly body: string;
  /** The content to send on WhatsApp and RCS; `body` is then only its readable summary. */
  readonly content?: Content;
  /** Our file that `content` links to, if it is the only content other than text. */
  readonly file?: OwnFile;
  /** A user data header before the text, which then has one part. */
  readonly udh?: Uint8Array;
  /**
   * These bytes are sent instead of `body`, with their own user data header: 8-bit data, or with an SMPP `dataCoding` a
   * fragment of a text that is not valid text by itself, because a character is split between two parts.
   */
  readonly binary?: { readonly udh: Uint8Array; readonly data: Uint8Array; readonly dataCoding?: number };
  /** The SMPP data_coding of a text with a class (a flash message) or an indication of waiting messages. */
  readonly dataCoding?: number;
  /** Optional parameters of SMPP, as on the wire, for carriers that take them. */
  readonly tlvs?: Uint8Array;
  /** The carrier must not deliver the message after this instant; null leaves the limit to the carrier. */
  readonly validUntil: Date | null;
  readonly wantReceipt: boolean;
};

export type CarrierState = {
  /** True if at least one link can submit. */
  readonly up: boolean;
  /** The number of binds (or sessions) that can submit now. */
  readonly bindsUp: number;
  /** The number of binds (or sessions) that the settings ask for. */
  readonly bindsWanted: number;
  /**
   * True if all links are up, including receive-only ones: the last reason given to `CarrierHost.failed` is then
   * obsolete.
   */
  readonly allLinksUp: boolean;
  /** The number of submitted messages without an outcome. */
  readonly inFlight: number;
  /** Reason why the operator must act (a wrong password, an unknown system id), or null. */
  readonly fault: string | null;
};

/**
 * Callbacks that the host provides to a carrier. The promises resolve when the event is committed; only then may the
 * carrier acknowledge it to the network.
 */
export type CarrierHost = {
  receipt(receipt: Receipt): Promise<void>;
  /**
   * Stores an inbound message or one part of it. `answered` resolves when the response to the network is written, and
   * never if the link ends before: then the network will send the message again.
   */
  inbound(inbound: Inbound, answered?: Promise<void>): Promise<void>;
  /** Called when the carrier sent something that cannot be read, for metrics. The carrier has logged it. */
  unreadable?(): void;
  /**
   * Called when the state may have changed or `room()` may have grown: a bind came up, a slot became free, a pause
   * ended.
   */
  changed(): void;
  /**
   * Called when a link cannot be established or is lost, and again after each failed attempt, with a readable reason.
   */
  failed(reason: string): void;
  log(level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>): void;
};

/** A running connection to one carrier. */
export type Carrier = {
  readonly channels: readonly Channel[];
  /** Starts connecting, and reconnects until stopped. Never throws because the peer is unreachable. */
  start(host: CarrierHost): void;
  /**
   * Returns the number of messages that `submit` takes right now: the free slots of the links that are up, 0 while down
   * or throttled.
   */
  room(): number;
  /** Returns the rate at which the network takes messages of a sender, as far as it has shown a limit. */
  paceOf?(sender: string): Pace;
  /** Submits one message and resolves with its outcome; never rejects. Call it only while `room()` > 0. */
  submit(submission: Submission): Promise<Outcome>;
  state(): CarrierState;
  /**
   * Revokes a message that was accepted but not delivered, where the network supports it (RBM). Resolves with `true` if
   * the network confirms that the message will not be shown, with `false` if it may have been shown or is not known,
   * and with null without a conclusive response: the request may have arrived, and may even have succeeded. Never
   * rejects.
   */
  revoke?(message: Pick<Submission, 'messageId' | 'sender' | 'destination'>): Promise<boolean | null>;
  /**
   * Shows the sender of a message that it was read, or that a reply is being written (WhatsApp, RCS). Resolves with
   * false if the network rejects it, and with null without a conclusive response. Never rejects.
   */
  show?(sign: SignToPerson): Promise<boolean | null>;
  /**
   * Resolves with the reachability of each of these numbers (E.164). Numbers without a response are missing from the
   * map. Never rejects.
   */
  findReachable?(sender: string, destinations: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /**
   * Takes no more submits, waits up to `deadlineMs` for responses, then closes; messages still open end as `unknown`.
   */
  stop(deadlineMs: number): Promise<void>;
};

/** Something that the sender of a message sees without a message. */
export type SignToPerson = {
  readonly kind: 'read' | 'typing';
  /** The sender of ours that got the message. */
  readonly sender: string;
  /** The person who wrote it, in E.164. */
  readonly destination: string;
  /** The id of the message at the network. */
  readonly networkId: string;
};

/**
 * The result of submitting one message to a carrier. Every submit ends in exactly one of these, even when the
 * connection dies: the type has no "pending" and no "error".
 */
export type Outcome =
  /**
   * The carrier took the message. `carrierIds` holds one id per part, in part order, exactly as the carrier spelled
   * them. `held` is set, to the carrier's own status, when it holds the message back for now; its end is reported like
   * any other.
   */
  | {
      readonly kind: 'accepted';
      readonly carrierIds: readonly string[];
      readonly held?: string;
      /** Other addresses by which the network knows the recipient: a number in E.164, a user id. */
      readonly aliases?: readonly string[];
    }
  /**
   * The carrier refused the message permanently. `carrierIds` holds the ids of the parts that it took before it refused
   * one, so that their receipts still find the message. `elsewhere` is true if the reason lies with this carrier or our
   * account there, so that another carrier may take the message; never when this one has taken a part.
   */
  | {
      readonly kind: 'refused';
      readonly status:
        | 'REJECTED'
        | 'UNDELIVERABLE'
        | 'EXPIRED'
        | 'ERROR'
        | 'DISABLED'
        | 'UNSUPPORTED'
        | 'CONVERSATION_CLOSED';
      readonly elsewhere?: boolean;
      readonly code: string;
      readonly text: string;
      readonly carrierIds: readonly string[];
    }
  /**
   * The carrier certainly did not take the message, so sending it again is safe. `counts` is true when the attempt
   * counts towards the limit of attempts: the carrier reported a temporary error of this message. It is false when the
   * link was the reason (throttled, or never written).
   */
  | {
      readonly kind: 'retry';
      readonly afterMs: number;
      readonly counts: boolean;
      readonly code: string;
      readonly text: string;
    }
  /**
   * The message was written and no response came: the carrier may or may not have taken it. It is never resent
   * silently.
   */
  | { readonly kind: 'unknown'; readonly text: string; readonly carrierIds: readonly string[] };

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
  /** The charge of the network for the message, if it states one (WhatsApp). */
  readonly billing?: ReceiptBilling;
};

/** The charge of a network for a message, in its own words; texts are empty if it does not state them. */
export type ReceiptBilling = {
  /** False for a message that is free. */
  readonly billable: boolean;
  /** Such as PMP: per message. */
  readonly model: string;
  /** Such as regular, free_customer_service or free_entry_point. */
  readonly type: string;
  readonly category: string;
};

/** One inbound message (MO), or one part of it. The host joins the parts, not the carrier. */
export type Inbound = {
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  readonly concat: { readonly ref: number; readonly total: number; readonly seq: number } | null;
  readonly raw: Uint8Array;
  /** Id of the message at an SMS carrier without callbacks, if it provides one. A repeat has the same id and bytes. */
  readonly carrierId?: string;
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
  readonly profileName: string | null;
  /** The account's number that the message was sent to, in digits, if the network identifies it by an id (WhatsApp). */
  readonly ownNumber: string | null;
  readonly media: InboundMedia | null;
  /** Another address of the sender that the network states: a user id, or a number in E.164 that the person shared. */
  readonly alias?: string;
  /** Choice, quotation or shared object, if the message is more than text and a file. */
  readonly content?: InboundContent;
  /** Set if this is no message, but a notice of the network about the sender or an earlier message. */
  readonly notice?: InboundNotice;
};

/**
 * A notice of a network: the sender has deleted a message (its id at the network), or has another number (E.164) or
 * user id from now on.
 */
export type InboundNotice =
  | { readonly kind: 'deleted'; readonly messageId: string }
  | { readonly kind: 'moved'; readonly address: string };

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

/** One message in the network's own JSON, validated before it was accepted. */
type NetworkJson = { readonly [key: string]: unknown };

/** A Graph API message without its addresses: `type` names the one other member, which holds the content. */
export type WhatsAppContent = {
  readonly channel: 'WHATSAPP';
  readonly message: NetworkJson & { readonly type: string };
  /** True if the network takes it for marketing: a template of that category. */
  readonly marketing?: true;
};

/** An RBM `contentMessage`: a text, a `richCard`, or media by `contentInfo`, each with optional suggestions. */
export type RcsContent = {
  readonly channel: 'RCS';
  readonly message: NetworkJson;
  /** Defaults to that of the connection. */
  readonly trafficType?: TrafficType;
};

/** Content that is sent instead of plain text. */
export type Content = WhatsAppContent | RcsContent;

/**
 * Purpose of a message, as the network classifies each one (`messageTrafficType`). Agents with several uses must state
 * it for every message; for the others, the network derives it from the use of the agent
 * (developers.google.com/business-communications/rcs-business-messaging/guides/build/messages/send).
 */
export const TRAFFIC_TYPES = [
  'AUTHENTICATION',
  'TRANSACTION',
  'PROMOTION',
  'SERVICEREQUEST',
  'ACKNOWLEDGEMENT',
] as const;

export type TrafficType = (typeof TRAFFIC_TYPES)[number];
