import { randomBytes } from 'node:crypto';
import type { Db } from '../../platform/db/query.ts';
import type { Role } from '../../platform/lib/scope.ts';
import { hashPassword, generatePassword } from './password.ts';
import { insertUser } from './sql.ts';

export type NewUser = { readonly userId: number; readonly username: string; readonly password: string };

/**
 * Makes a user of the account with a random password, shown this once. The username is made from `name` and is unique
 * across accounts: when it is taken, a short random ending is added.
 */
export async function createUser(
  db: Db,
  actor: { readonly accountId: number },
  input: { name: string; role: Role },
): Promise<NewUser> {
  const password = generatePassword();
  const passwordHash = await hashPassword(password);
  for (const username of usernames(input.name)) {
    const row = await insertUser(db, { accountId: actor.accountId, username, passwordHash, role: input.role });
    if (row) return { userId: row.id, username, password };
  }
  throw new Error('no free username found');
}

/** The plain name first, then ever longer endings: 32 bits of chance in the last. */
const usernames = (name: string): string[] => {
  const base = slug(name);
  return [base, ...[2, 3, 4].map((bytes) => `${base}-${randomBytes(bytes).toString('hex')}`)];
};

/** Lower-case ASCII letters, digits and single hyphens, at most 40 of them; `account` when nothing is left. */
export function slug(name: string): string {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = ascii.match(/[a-z0-9]+/g) ?? ['account'];
  return words.join('-').slice(0, 40).replace(/-$/, '');
}
