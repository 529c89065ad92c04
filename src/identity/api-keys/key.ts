import { createHash, randomBytes } from 'node:crypto';

const KEY = /^pg_live_[A-Za-z0-9_-]{43}$/;

/** A key value with the hash and the prefix that are stored. `value` itself is shown once and stored nowhere. */
export type NewKeyValue = { readonly value: string; readonly hash: Buffer; readonly prefix: string };

/** Generates a key value: `pg_live_` and 256 random bits in base64url. */
export function generateKeyValue(): NewKeyValue {
  const value = `pg_live_${randomBytes(32).toString('base64url')}`;
  return { value, hash: createHash('sha256').update(value).digest(), prefix: value.slice(0, 12) };
}

/**
 * Returns the SHA-256 under which a value is stored; undefined, which saves a query, if it cannot be one of ours.
 * Looking up the hash by index needs no constant-time comparison.
 */
export const hashOfKey = (value: string): Buffer | undefined =>
  KEY.test(value) ? createHash('sha256').update(value).digest() : undefined;
