import { createHmac } from 'node:crypto';
import { constantTimeEqual } from '../../platform/lib/constant-time-equal.ts';

/** Returns the value of the header `X-Hub-Signature-256` for a body (protocol sheet whatsapp, section 6). */
export const signatureOf = (rawBody: Uint8Array | string, appSecret: string): string =>
  `sha256=${createHmac('sha256', appSecret).update(rawBody).digest('hex')}`;

/** Returns whether the header is the signature of exactly these octets, in constant time. */
export const isSigned = (rawBody: Uint8Array, header: string | undefined, appSecret: string): boolean =>
  header !== undefined && constantTimeEqual(header, signatureOf(rawBody, appSecret));
