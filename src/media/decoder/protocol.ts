import { isRecord } from '../../platform/lib/is-record.ts';
import type { Inspection } from '../inspect.ts';
import type { Claim } from '../type.ts';

/** A request to the decoder. */
export type Request = { readonly octets: Uint8Array; readonly claim: Claim };
/**
 * The decoder's reply: the inspection, a rejection with a message for the sender, or a failure of the decoder itself.
 */
export type Reply =
  | { readonly inspection: Inspection }
  | { readonly refusal: { readonly code: 'invalid' | 'too_large'; readonly message: string } }
  | { readonly failure: string };

export const isRequest = (message: unknown): message is Request =>
  isRecord(message) && 'octets' in message && message.octets instanceof Uint8Array && 'claim' in message;

export const isReply = (message: unknown): message is Reply =>
  isRecord(message) && ('inspection' in message || 'refusal' in message || 'failure' in message);
