import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';

/** The permission that changes to users require. */
export const NEED: Need = { scope: 'keys', write: true };

export const USERS = '/api/partner-gateway/v1/users';

export const ROLES = ['viewer', 'sender', 'manager', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** The server's minimum length of a password. */
export const MIN_PASSWORD_LENGTH = 12;

export const listUsers = ({ page, limit }: { page: number; limit: number }, signal: AbortSignal) =>
  ok(api.GET(USERS, { params: { query: { page, limit } }, signal }));

/** A user of the account. */
export type User = Awaited<ReturnType<typeof listUsers>>['data'][number];

const PASSWORD_ALPHABET = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const SUGGESTED_LENGTH = 20;

/** Generates a password of 20 out of 56 letters and digits that are not easily confused: 116 bits. */
export function suggestPassword(): string {
  let password = '';
  while (password.length < SUGGESTED_LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(SUGGESTED_LENGTH))) {
      // Bytes beyond the last multiple of the alphabet's length are skipped, because they would favour its first letters.
      if (byte < 256 - (256 % PASSWORD_ALPHABET.length) && password.length < SUGGESTED_LENGTH)
        password += PASSWORD_ALPHABET[byte % PASSWORD_ALPHABET.length];
    }
  }
  return password;
}
