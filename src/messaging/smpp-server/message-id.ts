import type { IdFormat } from '../../identity/smpp-credentials/sql.ts';
import { isUuid } from '../../platform/lib/ids.ts';

const HEX = /^[0-9a-f]{32}$/i;
const DECIMAL = /^\d{1,39}$/;

const hexOf = (id: string): string => id.replaceAll('-', '');
const uuidOf = (hex: string): string =>
  hex.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** Writes our id of a message as the credential wants it. */
export function writeMessageId(id: string, format: IdFormat): string {
  if (format === 'uuid') return id;
  return format === 'hex' ? hexOf(id) : BigInt(`0x${hexOf(id)}`).toString();
}

/** Reads an id that a client sends back, in any of the formats and in either case; null if it cannot be one of ours. */
export function readMessageId(text: string): string | null {
  if (isUuid(text)) return text.toLowerCase();
  // An id of 32 digits without letters would be hexadecimal: a decimal one has 37 or 38.
  if (HEX.test(text)) return uuidOf(text);
  if (!DECIMAL.test(text)) return null;
  const hex = BigInt(text).toString(16).padStart(32, '0');
  return hex.length === 32 ? uuidOf(hex) : null;
}
