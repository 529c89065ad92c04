import { createHash } from 'node:crypto';
import type { Channel } from '../../platform/lib/channel.ts';
import { NUMBER_FAULTS } from '../../platform/lib/phone/number-rules.ts';
import type { StoredContent } from '../../network/templates/content.ts';
import type { Hop } from '../messages/fallback/hop.ts';
import type { Shortage } from '../../money/credit/charge.ts';
import { withAmounts } from '../../platform/lib/amounts.ts';
import type { ReceiptRequest } from '../smpp-outbox/sql.ts';
import type { Caller } from '../../platform/tracing.ts';

/** One message to one destination as requested by a client: its form has been checked, its content has not. */
export type Draft = {
  readonly channel: Channel;
  readonly source: 'API' | 'CAMPAIGN' | 'INBOX';
  /** The client's own reference, or null. */
  readonly clientId: string | null;
  /** The number as the client wrote it. */
  readonly destination: string;
  /** True if the gateway holds the number in E.164: it is from a conversation, or from the message before. */
  readonly isKnownNumber?: boolean;
  readonly sender: string;
  readonly body: string;
  /** Content on RCS and WhatsApp; `body` is then its readable text and may be empty. */
  readonly content?: StoredContent | null;
  /**
   * Bytes sent instead of a text, after the user data header, which may be empty: 8-bit data, or with a `dataCoding` a
   * part of a text that is not readable by itself.
   */
  readonly binary: { readonly udh: Uint8Array; readonly data: Uint8Array; readonly dataCoding?: number } | null;
  /** Coding of a text submitted over SMPP, for a message that replaces it. */
  readonly dataCoding?: number;
  /** SMPP parameters passed on to the carrier, as on the wire. */
  readonly tlvs?: Uint8Array | null;
  /** A user data header before the text. */
  readonly udh: Uint8Array | null;
  readonly simulation: boolean;
  readonly wantReceipt: boolean;
  readonly validUntil: Date | null;
  /** The message is not sent before this instant; null: it is sent immediately. */
  readonly scheduledAt: Date | null;
  /** 0 single, 1 bulk, 2 campaign: lower numbers go first. */
  readonly priority: 0 | 1 | 2;
  /** Maximum parts per SMS, when fewer than `MAX_PARTS`. */
  readonly maxParts?: number | undefined;
  /** True if a text with characters outside GSM 03.38 is rejected. */
  readonly gsmOnly?: boolean;
  /** The messages that follow when this one fails or takes too long, next first. */
  readonly hops?: readonly Hop[];
  /** True if it follows another message, which holds the client id. */
  readonly isHop?: boolean;
  /** The caller's decision about the trace of a single message; undefined if not set. */
  readonly caller?: Caller | undefined;
  /** The receipts requested over SMPP; null and undefined: none. */
  readonly smpp?: Omit<ReceiptRequest, 'accountId' | 'messageId'> | null;
};

type WithDefault =
  | 'clientId'
  | 'udh'
  | 'binary'
  | 'simulation'
  | 'wantReceipt'
  | 'validUntil'
  | 'scheduledAt'
  | 'priority';

/**
 * Makes a draft. Omitted fields get the value that most messages have: a single message that is sent immediately, with
 * a receipt.
 */
export const newDraft = (fields: Omit<Draft, WithDefault> & Partial<Pick<Draft, WithDefault>>): Draft => ({
  clientId: null,
  udh: null,
  binary: null,
  simulation: false,
  wantReceipt: true,
  validUntil: null,
  scheduledAt: null,
  priority: 0,
  ...fields,
});

/** Reasons for the rejection of a message. Clients get these texts unchanged. */
export const REFUSALS = {
  not_a_number: `the number ${NUMBER_FAULTS.not_a_number}`,
  no_country_code: `the number ${NUMBER_FAULTS.no_country_code}`,
  unknown_country_code: `the number ${NUMBER_FAULTS.unknown_country_code}`,
  impossible_length: `the number ${NUMBER_FAULTS.impossible_length}`,
  bad_sender: 'the sender must have 1 to 11 letters and digits, or up to 16 digits',
  foreign_sender: 'the account has no such sender on this channel',
  sender_not_allowed: 'the sender is not allowed in the country of the number',
  no_pool: 'there is no such pool of numbers, or it is empty',
  empty_body: 'the text is empty',
  bad_body: 'the text contains a NUL character',
  no_content: 'there is nothing to send on this channel',
  body_too_long: 'the text needs too many parts',
  body_not_gsm: 'the text has characters outside GSM 03.38',
  binary_too_long: 'user data header and data together exceed 140 octets',
  text_too_long_for_header: 'user data header and text do not fit into one message',
  no_route: 'no route leads to this number',
  no_price: 'the price list has no price for this number',
  no_credit: 'insufficient credit',
  opted_out: 'the number has opted out of messages on this channel',
} as const;
export type Refusal = keyof typeof REFUSALS;

/** The decision about one draft. */
export type Verdict =
  | {
      readonly kind: 'accepted';
      readonly messageId: string;
      readonly parts: number;
      readonly unicode: boolean;
      readonly sender?: string;
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly shortage?: Shortage }
  /** The client id was used for a message with other content within 24 hours. */
  | { readonly kind: 'conflict' };

/** Returns the reason of a rejection, for clients who may see amounts (`textFor` shortens it for others). */
export const reasonOf = ({ refusal, shortage }: Extract<Verdict, { kind: 'refused' }>): string =>
  shortage ? withAmounts(REFUSALS[refusal], shortage) : REFUSALS[refusal];

/**
 * Returns the SHA-256 of a draft's content: two drafts under one client id are the same message when their hashes are
 * equal. A number is the same with and without punctuation.
 */
export function contentHash(draft: Draft): Buffer {
  const { channel, destination, sender, body, content, binary, tlvs, udh, simulation, hops } = draft;
  const number = /^[+\d(]/.test(destination) ? destination.replace(/[\s().\-/]/g, '') : destination;
  const hash = createHash('sha256').update(JSON.stringify([channel, number, sender, body, simulation]));
  if (content) hash.update(JSON.stringify(content));
  if (hops) hash.update(JSON.stringify(hops));
  if (udh) hash.update(udh);
  if (binary) hash.update(binary.udh).update('\0').update(binary.data);
  if (tlvs) hash.update('\0').update(tlvs);
  return hash.digest();
}
