import { createHash, randomBytes } from 'node:crypto';

const KEY = /^pg_live_[A-Za-z0-9_-]{43}$/;

/** A key value with what is stored of it. `value` is shown once and kept nowhere. */
export type NewKeyValue = { readonly value: string; readonly hash: Buffer; readonly prefix: string };

/** A fresh key value: `pg_live_` and 256 random bits in base64url (contract 2). */
export function generateKeyValue(): NewKeyValue {
  const value = `pg_live_${randomBytes(32).toString('base64url')}`;
  return { value, hash: createHash('sha256').update(value).digest(), prefix: value.slice(0, 12) };
}

/**
 * The SHA-256 under which a shown value would be stored, or undefined when it cannot be one of ours: what does not look
 * like a key costs no query. The index look-up of the hash needs no constant-time comparison.
 */
export const hashOfKey = (value: string): Buffer | undefined =>
  KEY.test(value) ? createHash('sha256').update(value).digest() : undefined;
