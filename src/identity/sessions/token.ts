import { createHash, randomBytes } from 'node:crypto';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Generates a token of 256 random bits, with the hash that is stored. */
export function generateToken(): { readonly token: string; readonly hash: Buffer } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashOf(token) };
}

/** Returns the hash under which a token is stored; undefined, which saves a query, if it cannot be one of ours. */
export const hashOfToken = (token: string): Buffer | undefined => (TOKEN.test(token) ? hashOf(token) : undefined);
