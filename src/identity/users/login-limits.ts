import { createHash } from 'node:crypto';
import { AppError } from '../../platform/errors.ts';
import { type Rate, rateHeaders, type RateLimiter, type Verdict } from '../../platform/lib/limits/rate-limit.ts';

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
const RATE_PER_NETWORK: Rate = { perMinute: 60, perSecond: 60 };
/**
 * Limits the failures for one user from all networks that are new for that user, taken together. `perSecond` bounds by
 * how much several processes may overshoot before they have shared their counts.
 */
const RATE_FROM_UNKNOWN_NETWORKS: Rate = { perMinute: 20, perSecond: 5 };
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
  /** Returns the error for a wrong password whose attempt was counted. */
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
