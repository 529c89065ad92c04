import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';

/** What one needs to change people. */
export const NEED: Need = { scope: 'keys', write: true };

export const USERS = '/api/partner-gateway/v1/users';

export const ROLES = ['owner', 'admin', 'operator', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** As the server asks for it. */
export const LEAST_LETTERS = 12;

export const listUsers = ({ page, limit }: { page: number; limit: number }, signal: AbortSignal) =>
  ok(api.GET(USERS, { params: { query: { page, limit } }, signal }));

/** A person of the account, who signs in with a password. */
export type User = Awaited<ReturnType<typeof listUsers>>['data'][number];

const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LENGTH = 20;

/** 20 of 56 letters and digits that are not mistaken for one another: 116 bits. */
export function suggestPassword(): string {
  let password = '';
  while (password.length < LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH))) {
      // Bytes beyond the last whole round would favour the first letters.
      if (byte < 256 - (256 % LETTERS.length) && password.length < LENGTH) password += LETTERS[byte % LETTERS.length];
    }
  }
  return password;
}
