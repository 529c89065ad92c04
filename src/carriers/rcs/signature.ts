import { createHmac } from 'node:crypto';
import { constantTimeEqual } from '../../platform/lib/constant-time-equal.ts';

/**
 * Returns the value of the header `X-Goog-Signature` for the bytes of an event inside its envelope (RBM API, webhooks).
 */
export const signatureOf = (data: Uint8Array, clientToken: string): string =>
  createHmac('sha512', clientToken).update(data).digest('base64');

/** Returns true if the header is the signature of exactly these bytes, in constant time. */
export const isSigned = (data: Uint8Array, header: string | undefined, clientToken: string): boolean =>
  header !== undefined && constantTimeEqual(header, signatureOf(data, clientToken));
