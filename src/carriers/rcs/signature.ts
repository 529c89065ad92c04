import { createHmac } from 'node:crypto';
import { sameText } from '../../platform/lib/constant-time-equal.ts';

/** What the header `X-Goog-Signature` says of an event, by the octets within its envelope (protocol sheet rcs, section 6). */
export const signatureOf = (data: Uint8Array, clientToken: string): string =>
  createHmac('sha512', clientToken).update(data).digest('base64');

/** Whether the header is that of these very octets; takes as long for a wrong signature as for a right one. */
export const isSigned = (data: Uint8Array, header: string | undefined, clientToken: string): boolean =>
  header !== undefined && sameText(header, signatureOf(data, clientToken));
