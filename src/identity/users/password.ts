import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { refuseInTransaction } from '../../platform/db/transaction.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { createFairQueue, type Turner } from '../../platform/fair-queue.ts';
import { createRateLimiter, type Rate } from '../../platform/lib/limits/rate-limit.ts';
import { trimCharacterEnd } from '../../platform/lib/trim.ts';

const argon2id = promisify(argon2);
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** OWASP's second choice for argon2id: 19 MiB, 2 passes; about 70 ms of one core. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const TAG_BYTES = 32;

type Cost = typeof COST;
type Making = { readonly cost: Cost; readonly tagLength: number };

/** Two hashes at a time in the process, for whatever reason: unlimited ones would take every core, and 19 MiB each. */
const gate = createFairQueue({ size: 2, perAccount: 1, maxWaiting: 100 });

/** Owner of a pending hash: an account, a network, or `operator`. Each has one at a time, and all take turns. */
export type Hasher = { readonly by: Turner; readonly urgent?: boolean };

function tagOf(password: string, nonce: Buffer, { cost, tagLength }: Making, { by, urgent = false }: Hasher) {
  refuseInTransaction('a password hash');
  return gate.run(by, () => argon2id('argon2id', { message: password, nonce, tagLength, ...cost }), { urgent });
}

/** Passwords that an account sets for others. Sixty a minute take 7 % of a core. */
const RATE_OF_ACCOUNT: Rate = { perMinute: 60, perSecond: 60 };
const limiter = createRateLimiter();

function countHash(by: Turner): void {
  if (typeof by !== 'number') return;
  const { allowed, retryAfterSeconds } = limiter.take(String(by), RATE_OF_ACCOUNT);
  if (!allowed)
    throw new AppError('rate_limited', { message: 'Too many passwords were set in this account', retryAfterSeconds });
}

const unpadded = (bytes: Buffer): string => trimCharacterEnd(bytes.toString('base64'), '=');

const phc = (cost: Cost, nonce: Buffer, tag: Buffer): string =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;

/** A password and its hash, which is made before the transaction that stores it. */
export type Hashed = { readonly password: string; readonly passwordHash: string };

/**
 * Hashes a password with argon2id into a PHC string. It contains its own cost and salt, so that old hashes still work
 * when the cost is raised. Errors: 429 when the account has set 60 passwords in this minute.
 */
export async function hashPassword(password: string, hasher: Hasher): Promise<string> {
  countHash(hasher.by);
  const nonce = randomBytes(16);
  return phc(COST, nonce, await tagOf(password, nonce, { cost: COST, tagLength: TAG_BYTES }, hasher));
}

/** Returns true if the password matches this PHC string; the comparison takes constant time. */
export async function matchesPassword(password: string, stored: string, hasher: Hasher): Promise<boolean> {
  const [, memory, passes, parallelism, salt, hash] = PHC.exec(stored) ?? [];
  if (salt === undefined || hash === undefined) throw new Error('a stored password hash is not argon2id');
  const expected = Buffer.from(hash, 'base64');
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const making = { cost, tagLength: expected.length };
  return timingSafeEqual(await tagOf(password, Buffer.from(salt, 'base64'), making, hasher), expected);
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

/** Returns a password with its hash. Errors: those of `hashPassword`. */
export const hashed = async (password: string, hasher: Hasher): Promise<Hashed> => ({
  password,
  passwordHash: await hashPassword(password, hasher),
});
