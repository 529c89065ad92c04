import { createHmac, randomBytes } from 'node:crypto';
import { AppError } from '../../platform/errors.ts';
import { matchesPassword, UNMATCHABLE_HASH } from './password.ts';

export type VerifierOptions = {
  /** Hashes computed at once. Each takes a core and 19 MiB, so the hash itself could be used to bring us down. */
  readonly concurrency?: number;
  /** Callers that may wait for a hash, of each lane; further ones get 503. */
  readonly maxWaiting?: number;
  /** How long a right password is remembered. */
  readonly rememberMs?: number;
  readonly maxRemembered?: number;
  /** Replaceable, so that a test can count. */
  readonly matches?: typeof matchesPassword;
};

/** Who comes from where the user has been before waits for nobody else. */
export type Lane = 'known' | 'stranger';

export type Guess = {
  readonly username: string;
  readonly password: string;
  /** Read from the database for this very request; undefined: there is no such user. */
  readonly storedHash: string | undefined;
  readonly lane: Lane;
  /** Where it comes from. Only the same guess from the same place shares a hash that is under way. */
  readonly from: string;
  /** Called before the guess is compared with anything, unless it shares a hash. May throw. */
  onGuess?(): void;
  /** Called before a hash is computed for it. May throw. */
  onHash?(): void;
};

/** Tells whether a password is right. */
export type PasswordVerifier = (guess: Guess) => Promise<boolean>;

/**
 * Basic sends the password with every request, and a hash takes 70 ms: a right one is remembered for some minutes, as
 * an HMAC under a key of this process (the password itself is not kept) together with the stored hash that it fitted.
 * It counts only while the stored hash is still that one, so a changed password or a deleted user ends at once.
 * The same guess made many times at once from one place is hashed once. A wrong password is never remembered.
 *
 * A flood of strangers' guesses waits behind those of known callers, and only strangers are turned away for it.
 */
export function createPasswordVerifier(options: VerifierOptions = {}): PasswordVerifier {
  const { concurrency = 2, maxWaiting = 100, matches = matchesPassword } = options;
  const processKey = randomBytes(32);
  const known = createMemory(options);
  const underWay = new Map<string, Promise<boolean>>();
  const limited = limit(concurrency, maxWaiting);

  const check = async (mac: string, storedHash: string, { password, lane }: Guess): Promise<boolean> => {
    const right = await limited(lane, () => matches(password, storedHash));
    if (right) known.add(mac, storedHash);
    return right;
  };
  return async (guess) => {
    const { username, password, storedHash = UNMATCHABLE_HASH, from } = guess;
    const mac = createHmac('sha256', processKey)
      .update(JSON.stringify([username, password]))
      .digest('base64');
    const job = `${mac} ${storedHash} ${from}`;
    const running = underWay.get(job);
    if (running) return running;
    guess.onGuess?.();
    if (known.has(mac, storedHash)) return true;
    guess.onHash?.();
    const started = check(mac, storedHash, guess).finally(() => underWay.delete(job));
    underWay.set(job, started);
    return started;
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

/**
 * Runs at most `concurrency` pieces of work at once, those of the known lane first, each lane in the order of its
 * calls; refuses what would wait too long.
 */
function limit(concurrency: number, maxWaiting: number) {
  const waiting: Record<Lane, (() => void)[]> = { known: [], stranger: [] };
  let running = 0;
  return async <T>(lane: Lane, work: () => Promise<T>): Promise<T> => {
    if (running >= concurrency) {
      if (waiting[lane].length >= maxWaiting) throw new AppError('unavailable', { retryAfterSeconds: 2 });
      await new Promise<void>((resolve) => waiting[lane].push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      // A finished piece of work hands its place to the next one: `running` stays.
      const next = waiting.known.shift() ?? waiting.stranger.shift();
      if (next) next();
      else running--;
    }
  };
}
