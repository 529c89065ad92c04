import type { Channel } from '../platform/lib/channel.ts';
import type { Content } from './content.ts';
import type { Inbound, Receipt } from './events.ts';
import type { Outcome } from './outcome.ts';
import type { OwnFile } from './own-file.ts';
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
  /** Optional parameters of SMPP, as on the wire, for carriers that take them. */
  readonly tlvs?: Uint8Array;
  /** The carrier must not deliver the message after this instant; null leaves the limit to the carrier. */
  readonly validUntil: Date | null;
  readonly wantReceipt: boolean;
};

/** State of a carrier's links. */
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
  /** Stores a delivery receipt. */
  receipt(receipt: Receipt): Promise<void>;
  /** Stores an inbound message or one part of it. */
  inbound(inbound: Inbound): Promise<void>;
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
   * Resolves with the reachability of each of these numbers (E.164). Numbers without a response are missing from the
   * map. Never rejects.
   */
  findReachable?(sender: string, destinations: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /**
   * Takes no more submits, waits up to `deadlineMs` for responses, then closes; messages still open end as `unknown`.
   */
  stop(deadlineMs: number): Promise<void>;
};
