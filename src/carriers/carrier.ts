import type { Channel } from '../platform/lib/channel.ts';
import type { Content } from './content.ts';
import type { Inbound, Receipt } from './events.ts';
import type { Outcome } from './outcome.ts';

/** One message as a carrier needs it: complete, validated, nothing to look up. */
export type Submission = {
  readonly messageId: string;
  /** E.164 with the leading plus. */
  readonly destination: string;
  /**
   * SMS: 1..11 alphanumeric characters, or digits (a number or a short code); empty lets the carrier choose. WhatsApp: the
   * phone number id. RCS: the agent id.
   */
  readonly sender: string;
  readonly body: string;
  /** On WhatsApp and RCS: what is sent; `body` is then only what people read of it. */
  readonly content?: Content;
  /** A binary message: `body` is empty and these octets are sent instead (8-bit, with their own header). */
  readonly binary?: { readonly udh: Uint8Array; readonly data: Uint8Array };
  /** After this instant the carrier must not deliver it any more; null leaves it to the carrier. */
  readonly validUntil: Date | null;
  readonly wantReceipt: boolean;
};

export type CarrierState = {
  readonly up: boolean;
  /** Binds (or sessions) that can submit now, of how many wanted. */
  readonly bindsUp: number;
  readonly bindsWanted: number;
  /** All links are up, those that only receive too: what `failed` told last is over. */
  readonly whole: boolean;
  readonly inFlight: number;
  /** Set when the carrier needs a person: wrong password, unknown system id. */
  readonly fault: string | null;
};

/** What the host gives to a carrier. A promise resolves when the event is committed; only then is it acknowledged. */
export type CarrierHost = {
  receipt(receipt: Receipt): Promise<void>;
  inbound(inbound: Inbound): Promise<void>;
  /** Called when the state or `room()` may have grown: a bind came up, a response freed a slot, a pause ended. */
  changed(): void;
  /** Called when a link could not be made or was lost, with the reason, for people; and again at each try. */
  failed(reason: string): void;
  log(level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>): void;
};

/** A running connection to one carrier. */
export type Carrier = {
  readonly channels: readonly Channel[];
  /** Starts connecting and keeps at it. Never throws because the peer is away. */
  start(host: CarrierHost): void;
  /** How many messages `submit` takes right now: free window slots of binds that are up; 0 while down or throttled. */
  room(): number;
  /** Resolves with exactly one outcome; never rejects. Call only while `room()` > 0. */
  submit(submission: Submission): Promise<Outcome>;
  state(): CarrierState;
  /**
   * Takes back a message that was accepted and not delivered; where the network can (RBM). `true` is the network's word
   * that it will not be shown, `false` that it may have been or that there is no such message; null: it has said nothing
   * that counts, though it may have been asked, and may even have done it. Never rejects.
   */
  revoke?(message: Pick<Submission, 'messageId' | 'sender' | 'destination'>): Promise<boolean | null>;
  /**
   * Which of these numbers (E.164) the network reaches; numbers that it said nothing of are left out. Never rejects.
   */
  findReachable?(sender: string, destinations: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /** Stops taking submits, waits for answers until the deadline, then closes; what is open ends as `unknown`. */
  stop(deadlineMs: number): Promise<void>;
};
