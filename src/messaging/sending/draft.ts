import { createHash } from 'node:crypto';
import type { Channel } from '../../platform/lib/channel.ts';
import type { StoredContent } from '../../network/templates/content.ts';
import type { Hop } from '../messages/fallback/hop.ts';

/** One message to one destination as a client asked for it: its form is checked, its content is not yet. */
export type Draft = {
  readonly channel: Channel;
  readonly source: 'API' | 'CAMPAIGN' | 'INBOX';
  /** The client's own reference, or null. */
  readonly clientId: string | null;
  /** As the client wrote it. */
  readonly destination: string;
  readonly sender: string;
  readonly body: string;
  /** What is sent on RCS and WhatsApp; `body` is then what people read of it, and may be empty. */
  readonly content?: StoredContent | null;
  readonly binary: { readonly udh: Uint8Array; readonly data: Uint8Array } | null;
  readonly simulation: boolean;
  readonly wantReceipt: boolean;
  readonly validUntil: Date | null;
  /** Not before this instant; null sends at once. */
  readonly scheduledAt: Date | null;
  /** 0 single, 1 bulk, 2 campaign: lower goes first. */
  readonly priority: 0 | 1 | 2;
  /** Fewer parts than the general limit. */
  readonly maxParts?: number | undefined;
  /** Refuse texts that do not fit GSM 03.38. */
  readonly gsmOnly?: boolean;
  /** What follows when it fails or takes too long, next first. */
  readonly hops?: readonly Hop[];
  /** It follows another message, which holds the client id. */
  readonly isHop?: boolean;
};

/** Why a message was refused. Answered to the client word for word. */
export const REFUSALS = {
  bad_destination: 'the number is not a valid E.164 number',
  bad_sender: 'the sender must have 1 to 11 letters and digits, or up to 16 digits',
  foreign_sender: 'the account has no such sender on this channel',
  empty_body: 'the text is empty',
  bad_body: 'the text holds a NUL character',
  no_content: 'there is nothing to send on this channel',
  body_too_long: 'the text needs too many parts',
  body_not_gsm: 'the text has characters outside GSM 03.38',
  binary_too_long: 'header and octets together exceed 140',
  no_route: 'no route leads to this number',
  no_price: 'the price list has no price for this number',
  no_credit: 'the credit does not suffice',
  opted_out: 'opted out: the number wants no messages on this channel',
} as const;
export type Refusal = keyof typeof REFUSALS;

/** What was decided about one draft. */
export type Verdict =
  | { readonly kind: 'accepted'; readonly messageId: string; readonly parts: number; readonly unicode: boolean }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The client id was used for another content within 24 hours. */
  | { readonly kind: 'conflict' };

/** Tells whether two drafts under one client id are the same message. */
export function contentHash(draft: Draft): Buffer {
  const { channel, destination, sender, body, content, binary, simulation, hops } = draft;
  const hash = createHash('sha256').update(JSON.stringify([channel, destination, sender, body, simulation]));
  if (content) hash.update(JSON.stringify(content));
  if (hops) hash.update(JSON.stringify(hops));
  if (binary) hash.update(binary.udh).update('\0').update(binary.data);
  return hash.digest();
}
