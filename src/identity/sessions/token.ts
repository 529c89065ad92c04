import { createHash, randomBytes } from 'node:crypto';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** A fresh token of 256 random bits, with what is stored of it. */
export function generateToken(): { readonly token: string; readonly hash: Buffer } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashOf(token) };
}

/** The hash under which a shown token would be stored. Undefined when it cannot be one of ours: that costs no query. */
export const hashOfToken = (token: string): Buffer | undefined => (TOKEN.test(token) ? hashOf(token) : undefined);
