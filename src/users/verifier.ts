import { createHmac, randomBytes } from 'node:crypto';
import { AppError } from '../errors.ts';
import { matchesPassword, UNMATCHABLE_HASH } from './password.ts';

export type VerifierOptions = {
  /** Hashes computed at once. Each takes a core and 19 MiB, so the hash itself could be used to bring us down. */
  readonly concurrency?: number;
  /** Callers that may wait for a hash; further ones get 503. */
  readonly maxWaiting?: number;
  /** How long a right password is remembered. */
  readonly rememberMs?: number;
  readonly maxRemembered?: number;
  /** Replaceable, so that a test can count. */
  readonly matches?: typeof matchesPassword;
};

/** Tells whether a password is right. `storedHash` is read from the database for this very request. */
export type PasswordVerifier = (username: string, password: string, storedHash: string | undefined) => Promise<boolean>;

/**
 * Basic sends the password with every request, and a hash takes 70 ms: a right one is remembered for some minutes, as
 * an HMAC under a key of this process (the password itself is not kept) together with the stored hash that it fitted.
 * It counts only while the stored hash is still that one, so a changed password or a deleted user ends at once.
 * The same guess made many times at once is hashed once. A wrong password is never remembered.
 */
export function createPasswordVerifier(options: VerifierOptions = {}): PasswordVerifier {
  const { concurrency = 2, maxWaiting = 100, matches = matchesPassword } = options;
  const processKey = randomBytes(32);
  const known = createMemory(options);
  const underWay = new Map<string, Promise<boolean>>();
  const limited = limit(concurrency, maxWaiting);

  const check = async (guess: string, password: string, storedHash: string): Promise<boolean> => {
    const right = await limited(() => matches(password, storedHash));
    if (right) known.add(guess, storedHash);
    return right;
  };
  return (username, password, storedHash = UNMATCHABLE_HASH) => {
    const guess = createHmac('sha256', processKey)
      .update(JSON.stringify([username, password]))
      .digest('base64');
    if (known.has(guess, storedHash)) return Promise.resolve(true);
    const job = `${guess} ${storedHash}`;
    const running = underWay.get(job) ?? check(guess, password, storedHash).finally(() => underWay.delete(job));
    underWay.set(job, running);
    return running;
  };
}

/** Guesses that were right, with the stored hash that each fitted; the oldest go first. */
function createMemory({ rememberMs = 300_000, maxRemembered = 10_000 }: VerifierOptions) {
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

/** Runs at most `concurrency` pieces of work at once, in the order of their calls; refuses what would wait too long. */
function limit(concurrency: number, maxWaiting: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= concurrency) {
      if (waiting.length >= maxWaiting) throw new AppError('unavailable', { retryAfterSeconds: 2 });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      // A finished piece of work hands its place to the next one: `running` stays.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
