import { createHmac, randomBytes } from 'node:crypto';
import { AppError } from '../../platform/errors.ts';
import { matchesPassword, UNMATCHABLE_HASH } from './password.ts';

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
export type CallerClass = 'known' | 'stranger';

/** A password to be checked. */
export type Guess = {
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
export type PasswordVerifier = (guess: Guess) => Promise<boolean>;

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
  const waiting: Record<CallerClass, number> = { known: 0, stranger: 0 };

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
