import { createHmac } from 'node:crypto';
import { constantTimeEqual } from '../../platform/lib/constant-time-equal.ts';

/** Returns the value of the header `X-Hub-Signature-256` for a body (Cloud API, webhooks). */
export const signatureOf = (rawBody: Uint8Array | string, appSecret: string): string =>
  `sha256=${createHmac('sha256', appSecret).update(rawBody).digest('hex')}`;

/**
 * Returns `appsecret_proof`, which shows that a call with this token comes from the app to which it was issued: the
 * HMAC-SHA256 of the token under the app secret, in hex. An app whose setting "Require App Secret" is on is rejected
 * without it (developers.facebook.com/docs/graph-api/guides/secure-requests).
 */
export const appSecretProof = (accessToken: string, appSecret: string): string =>
  createHmac('sha256', appSecret).update(accessToken).digest('hex');

/** Returns true if the header is the signature of exactly these bytes, in constant time. */
export const isSigned = (rawBody: Uint8Array, header: string | undefined, appSecret: string): boolean =>
  header !== undefined && constantTimeEqual(header, signatureOf(rawBody, appSecret));
