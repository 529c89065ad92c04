import type { Picture, PictureType } from './picture.ts';
import { isRecord } from '../../platform/lib/is-record.ts';

/** A request to the decoder. */
export type Request = { readonly octets: Uint8Array; readonly type: PictureType };
/** The decoder's reply: the picture, a refusal with a message for the sender, or a failure of the decoder itself. */
export type Reply =
  | { readonly picture: Picture }
  | { readonly refusal: { readonly code: 'invalid' | 'too_large'; readonly message: string } }
  | { readonly failure: string };

export const isRequest = (message: unknown): message is Request =>
  isRecord(message) && 'octets' in message && message.octets instanceof Uint8Array && 'type' in message;

export const isReply = (message: unknown): message is Reply =>
  isRecord(message) && ('picture' in message || 'refusal' in message || 'failure' in message);
