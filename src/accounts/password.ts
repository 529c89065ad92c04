import { argon2, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { refuseInTransaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { createFairQueue, type Turner } from '../core/fair-queue.ts';
import { createRateLimiter, type Rate, type RateLimiter, rateHeaders, type Verdict } from '../core/limits.ts';
import { trimCharacterEnd } from '../core/schema.ts';

const argon2id = promisify(argon2);
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** OWASP's second choice for argon2id: 19 MiB, 2 passes; about 70 ms of one core. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const TAG_BYTES = 32;

type Cost = typeof COST;
type Making = { readonly cost: Cost; readonly tagLength: number };

/** Hashes at a time in the process, for whatever reason: unlimited ones would take every core, and 19 MiB each. */
export const HASHES_AT_ONCE = 2;
const gate = createFairQueue({ name: 'passwords', size: HASHES_AT_ONCE, perAccount: 1, maxWaiting: 100 });

/** Owner of a pending hash: an account, a network, or `operator`. Each has one at a time, and all take turns. */
export type Hasher = { readonly by: Turner; readonly urgent?: boolean };

function tagOf(password: string, nonce: Buffer, { cost, tagLength }: Making, { by, urgent = false }: Hasher) {
  refuseInTransaction('a password hash');
  return gate.run(by, () => argon2id('argon2id', { message: password, nonce, tagLength, ...cost }), { urgent });
}

/** Passwords that an account sets for others. Sixty a minute take 7 % of a core. */
export const RATE_OF_ACCOUNT: Rate = { perMinute: 60, perSecond: 60 };
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

export type VerifierOptions = {
  /** Maximum number of callers of each class that a hash is made for or that wait for one; further ones get 503. */
  readonly maxWaiting?: number;
  /** Time for which a right password is cached. */
  readonly rememberMs?: number;
  readonly maxRemembered?: number;
  /** Replaceable by tests that count hashes. */
  readonly matches?: typeof matchesPassword;
};

/** Class of the caller's network: known if the user has logged in from it before; those callers are served first. */
export type CallerClass = 'known' | 'unknown';

type Guess = {
  readonly username: string;
  readonly password: string;
  /** The hash just read from the database for this request; undefined if the user does not exist. */
  readonly storedHash: string | undefined;
  readonly caller: CallerClass;
  /** The caller's network. Only the same guess from the same network shares a hash in progress. */
  readonly from: string;
  /** Called before the guess is checked at all, unless it shares a hash in progress. May throw. */
  onGuess?(): void;
  /** Called before a hash is computed for the guess. May throw. */
  onHash?(): void;
};

/** Resolves with true if a password is right. */
type PasswordVerifier = (guess: Guess) => Promise<boolean>;

/**
 * Creates a verifier that caches right passwords for five minutes, since clients send a Basic password with every
 * request and a hash takes 70 ms. It stores only an HMAC under a key of this process (never the password) with the
 * stored hash that matched. An entry counts only while the stored hash is the same, so that a changed password or a
 * deleted user takes effect immediately. Concurrent equal guesses from one network share one hash. Wrong passwords are
 * never cached.
 *
 * Guesses of unknown callers wait behind those of known ones, networks take turns, and when there are too many, only
 * those of unknown callers are rejected.
 */
export function createPasswordVerifier(options: VerifierOptions = {}): PasswordVerifier {
  const { maxWaiting = 100, matches = matchesPassword } = options;
  const processKey = randomBytes(32);
  const known = createCache(options);
  const inProgress = new Map<string, Promise<boolean>>();
  const waiting: Record<CallerClass, number> = { known: 0, unknown: 0 };

  async function check(mac: string, storedHash: string, { password, caller, from }: Guess): Promise<boolean> {
    if (waiting[caller] >= maxWaiting) throw new AppError('unavailable', { retryAfterSeconds: 2 });
    waiting[caller]++;
    try {
      const right = await matches(password, storedHash, { by: from, urgent: caller === 'known' });
      if (right) known.add(mac, storedHash);
      return right;
    } finally {
      waiting[caller]--;
    }
  }
  return async (guess) => {
    const { username, password, storedHash = UNMATCHABLE_HASH, from } = guess;
    const mac = createHmac('sha256', processKey)
      .update(JSON.stringify([username, password]))
      .digest('base64');
    const job = `${mac} ${storedHash} ${from}`;
    const running = inProgress.get(job);
    if (running) return running;
    guess.onGuess?.();
    if (known.has(mac, storedHash)) return true;
    guess.onHash?.();
    const started = check(mac, storedHash, guess).finally(() => inProgress.delete(job));
    inProgress.set(job, started);
    return started;
  };
}

/** A cache of right guesses with the stored hash that each matched; when it is full, the oldest are dropped. */
function createCache({ rememberMs = 300_000, maxRemembered = 10_000 }: VerifierOptions) {
  const remembered = new Map<string, { readonly storedHash: string; readonly until: number }>();
  return {
    has(guess: string, storedHash: string): boolean {
      const known = remembered.get(guess);
      return known !== undefined && known.storedHash === storedHash && known.until > performance.now();
    },
    add(guess: string, storedHash: string): void {
      remembered.delete(guess);
      remembered.set(guess, { storedHash, until: performance.now() + rememberMs });
      const oldest = remembered.keys().next();
      if (remembered.size > maxRemembered && !oldest.done) remembered.delete(oldest.value);
    },
  };
}

/** An attempt to log in as a user. */
export type Attempt = {
  readonly username: string;
  /** The caller's network, as written by `networkOf`. */
  readonly network: string;
  /** True if this user has logged in from this network before. */
  readonly known: boolean;
};

/**
 * Limits all failures from one network, whatever was tried. All of them may happen in one second, since a misconfigured
 * client may have many connections.
 */
export const RATE_PER_NETWORK: Rate = { perMinute: 60, perSecond: 60 };
/**
 * Limits the failures for one user from all networks that are new for that user, taken together. `perSecond` bounds by
 * how much several processes may overshoot before they have shared their counts.
 */
export const RATE_FROM_UNKNOWN_NETWORKS: Rate = { perMinute: 20, perSecond: 5 };
/** Limits the failures for one user from one network that is known for that user. */
const RATE_FROM_KNOWN_NETWORK: Rate = { perMinute: 30, perSecond: 10 };

export type LoginLimits = {
  /**
   * Throws 429 when the attempts are used up. Call it before anything is compared: it applies to right credentials too.
   */
  assertAllowed(attempt: Attempt): void;
  /** Counts an attempt, or throws 429. Call it before a hash is computed. */
  countAttempt(attempt: Attempt): void;
  /** Reverts the count of an attempt that was right. */
  refund(attempt: Attempt): void;
  failedAttempt(attempt: Attempt): AppError;
  /** Counts an invalid API key and returns its error. */
  failedKey(network: string): AppError;
};

type Limit = readonly [name: string, rate: Rate];

/**
 * Creates the limits of failed authentication attempts. For each user, all unknown networks share one small limit,
 * however many addresses they have, and also use up that of their network. Neither applies to networks from which the
 * user has logged in before, so that owners cannot be locked out from their own network. Right credentials use up
 * nothing. Unknown usernames get the same responses as known ones: every failure is shown with the limit of the
 * network, and uses it up, so that the headers do not reveal that this user has logged in from here.
 *
 * An attacker on the owner's own network (behind one NAT, or a proxy that TRUST_PROXY does not list) can use up its
 * limit, since nothing tells the two apart. API keys keep working: a valid key is accepted whatever the count.
 */
export function createLoginLimits(limiter: RateLimiter): LoginLimits {
  const refuseSpent = (attempt: Attempt): void => {
    for (const [name, rate] of limitsOf(attempt)) {
      const verdict = limiter.peek(name, rate);
      if (!verdict.allowed) throw tooMany({ ...ofNetwork(attempt), retryAfterSeconds: verdict.retryAfterSeconds });
    }
  };
  const ofNetwork = ({ network }: Attempt): Verdict => limiter.peek(`a${network}`, RATE_PER_NETWORK);
  return {
    assertAllowed: refuseSpent,
    countAttempt(attempt) {
      refuseSpent(attempt);
      for (const [name, rate] of limitsOf(attempt)) limiter.take(name, rate);
    },
    refund(attempt) {
      for (const [name] of limitsOf(attempt)) limiter.refund(name);
    },
    failedAttempt: (attempt) =>
      unauthenticated(attempt.known ? limiter.take(`a${attempt.network}`, RATE_PER_NETWORK) : ofNetwork(attempt)),
    failedKey(network) {
      const verdict = limiter.take(`a${network}`, RATE_PER_NETWORK);
      return verdict.allowed ? unauthenticated(verdict) : tooMany(verdict);
    },
  };
}

const limitsOf = ({ username, network, known }: Attempt): Limit[] =>
  known
    ? [[`o${digest(username, network)}`, RATE_FROM_KNOWN_NETWORK]]
    : [
        [`a${network}`, RATE_PER_NETWORK],
        [`s${digest(username)}`, RATE_FROM_UNKNOWN_NETWORKS],
      ];

/** Returns a short ASCII name for any username that a client sends. */
const digest = (...words: string[]): string =>
  createHash('sha256').update(JSON.stringify(words)).digest('base64url').slice(0, 22);

const unauthenticated = (verdict: Verdict): AppError =>
  new AppError('unauthenticated', { headers: rateHeaders(verdict) });

const tooMany = (verdict: Verdict): AppError =>
  new AppError('rate_limited', {
    message: 'Too many failed attempts to authenticate',
    retryAfterSeconds: verdict.retryAfterSeconds,
    headers: rateHeaders(verdict),
  });
