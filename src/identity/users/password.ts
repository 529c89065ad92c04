import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { invalidFields } from '../../platform/errors.ts';

const argon2id = promisify(argon2);
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** OWASP's second choice for argon2id: 19 MiB, 2 passes; about 70 ms of one core. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const TAG_BYTES = 32;

type Cost = typeof COST;

const tagOf = (password: string, nonce: Buffer, cost: Cost, tagLength: number): Promise<Buffer> =>
  argon2id('argon2id', { message: password, nonce, tagLength, ...cost });

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

const phc = (cost: Cost, nonce: Buffer, tag: Buffer): string =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;

/** argon2id in a PHC string, which carries its own cost and salt: the cost may be raised and old hashes still work. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  return phc(COST, nonce, await tagOf(password, nonce, COST, TAG_BYTES));
}

/** Whether the password is the one of this PHC string; the comparison takes the same time wherever they differ. */
export async function matchesPassword(password: string, stored: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt, hash] = PHC.exec(stored) ?? [];
  if (salt === undefined || hash === undefined) throw new Error('a stored password hash is not argon2id');
  const expected = Buffer.from(hash, 'base64');
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return timingSafeEqual(await tagOf(password, Buffer.from(salt, 'base64'), cost, expected.length), expected);
}

/**
 * A hash that no password is checked against with success, at today's cost: whoever names an unknown user waits as
 * long as one who is wrong about the password.
 */
export const UNMATCHABLE_HASH = phc(COST, randomBytes(16), randomBytes(TAG_BYTES));

/** 400 naming `field` when the password is the username, in capitals or not: the first that anybody would try. */
export function refuseGuessablePassword(
  field: string,
  { username, password }: { readonly username: string; readonly password: string },
): void {
  if (password.toLowerCase() === username.toLowerCase())
    throw invalidFields([{ field, message: 'must not be the username' }]);
}

/** A password for a person or a program: 24 characters, 144 random bits. */
export const generatePassword = (): string => randomBytes(18).toString('base64url');
