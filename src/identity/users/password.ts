import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { invalidFields } from '../../platform/errors.ts';
import { trimCharacterEnd } from '../../platform/lib/trim.ts';

const argon2id = promisify(argon2);
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** OWASP's second choice for argon2id: 19 MiB, 2 passes; about 70 ms of one core. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const TAG_BYTES = 32;

type Cost = typeof COST;

const tagOf = (password: string, nonce: Buffer, cost: Cost, tagLength: number): Promise<Buffer> =>
  argon2id('argon2id', { message: password, nonce, tagLength, ...cost });

const unpadded = (bytes: Buffer): string => trimCharacterEnd(bytes.toString('base64'), '=');

const phc = (cost: Cost, nonce: Buffer, tag: Buffer): string =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;

/**
 * Hashes a password with argon2id into a PHC string. It contains its own cost and salt, so that old hashes still work
 * when the cost is raised.
 */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  return phc(COST, nonce, await tagOf(password, nonce, COST, TAG_BYTES));
}

/** Whether the password matches this PHC string; the comparison takes constant time. */
export async function matchesPassword(password: string, stored: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt, hash] = PHC.exec(stored) ?? [];
  if (salt === undefined || hash === undefined) throw new Error('a stored password hash is not argon2id');
  const expected = Buffer.from(hash, 'base64');
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return timingSafeEqual(await tagOf(password, Buffer.from(salt, 'base64'), cost, expected.length), expected);
}

/** A hash at the current cost that no password matches, so that unknown users take as long as wrong passwords. */
export const UNMATCHABLE_HASH = phc(COST, randomBytes(16), randomBytes(TAG_BYTES));

/** Throws 400 naming `field` when the password is the username, in any case: anyone would try that first. */
export function refuseGuessablePassword(
  field: string,
  { username, password }: { readonly username: string; readonly password: string },
): void {
  if (password.toLowerCase() === username.toLowerCase())
    throw invalidFields([{ field, message: 'must not be the username' }]);
}

/** Generates a password of 24 characters with 144 random bits. */
export const generatePassword = (): string => randomBytes(18).toString('base64url');
