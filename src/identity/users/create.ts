import { randomBytes } from 'node:crypto';
import type { Db } from '../../platform/db/query.ts';
import type { Role } from '../../platform/lib/scope.ts';
import type { Hashed } from './password.ts';
import { insertUser } from './sql.ts';

/** A user just created, with the password, which cannot be shown again. */
export type NewUser = { readonly userId: number; readonly username: string; readonly password: string };

/**
 * Creates a user of the account with this random password. The username is derived from `name` and unique across accounts:
 * if it is taken, a short random suffix is added.
 */
export async function createUserWithRandomPassword(
  db: Db,
  actor: { readonly accountId: number },
  input: { name: string; role: Role } & Hashed,
): Promise<NewUser> {
  const { name, role, password, passwordHash } = input;
  for (const username of usernames(name)) {
    const row = await insertUser(db, { accountId: actor.accountId, username, passwordHash, role });
    if (row) return { userId: row.id, username, password };
  }
  throw new Error('no free username found');
}

/**
 * Returns the usernames to try: the plain name, then with random suffixes of increasing length, of 32 bits in the last.
 */
const usernames = (name: string): string[] => {
  const base = slug(name);
  return [base, ...[2, 3, 4].map((bytes) => `${base}-${randomBytes(bytes).toString('hex')}`)];
};

/** Turns a name into at most 40 lower-case ASCII letters, digits and single hyphens; `account` if none are left. */
export function slug(name: string): string {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = ascii.match(/[a-z0-9]+/g) ?? ['account'];
  return words.join('-').slice(0, 40).replace(/-$/, '');
}
