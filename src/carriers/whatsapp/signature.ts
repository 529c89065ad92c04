import { createHmac } from 'node:crypto';
import { sameText } from '../../platform/lib/constant-time-equal.ts';

/** What the header `X-Hub-Signature-256` says of a body (protocol sheet whatsapp, section 6). */
export const signatureOf = (rawBody: Uint8Array | string, appSecret: string): string =>
  `sha256=${createHmac('sha256', appSecret).update(rawBody).digest('hex')}`;

/** Whether the header is that of these very octets; takes as long for a wrong signature as for a right one. */
export const isSigned = (rawBody: Uint8Array, header: string | undefined, appSecret: string): boolean =>
  header !== undefined && sameText(header, signatureOf(rawBody, appSecret));
