import type { Picture, PictureType } from './picture.ts';

/** What the decoder is asked… */
export type Request = { readonly octets: Uint8Array; readonly type: PictureType };
/** … and what it answers: the picture; why there is none, in words for its sender; or what is wrong with the decoder. */
export type Reply =
  | { readonly picture: Picture }
  | { readonly refusal: { readonly code: 'invalid' | 'too_large'; readonly message: string } }
  | { readonly failure: string };

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

export const isRequest = (message: unknown): message is Request =>
  isObject(message) && 'octets' in message && message.octets instanceof Uint8Array && 'type' in message;

export const isReply = (message: unknown): message is Reply =>
  isObject(message) && ('picture' in message || 'refusal' in message || 'failure' in message);
