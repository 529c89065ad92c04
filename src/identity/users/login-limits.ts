import { createHash } from 'node:crypto';
import { AppError } from '../../platform/errors.ts';
import { type Rate, rateHeaders, type RateLimiter, type Verdict } from '../../platform/lib/rate-limit.ts';

/** Somebody names a user. */
export type Attempt = {
  readonly username: string;
  /** As `networkOf` writes it. */
  readonly network: string;
  /** This user has come in from there before. */
  readonly known: boolean;
};

/** All failures from one address, whatever was tried; at once, if a client of many connections is set up wrongly. */
const RATE_PER_NETWORK: Rate = { perMinute: 60, perSecond: 60 };
/**
 * At one user from all addresses where that user has never been: for all strangers together. The second's share is what
 * several processes may overshoot by before they have told each other.
 */
const RATE_FROM_UNKNOWN_NETWORKS: Rate = { perMinute: 20, perSecond: 5 };
/** At one user from one address where that user has been. */
const RATE_FROM_KNOWN_NETWORK: Rate = { perMinute: 30, perSecond: 10 };

export type LoginLimits = {
  /** Before anything is compared: 429 when the tries are used up, to right credentials too. */
  assertAllowed(attempt: Attempt): void;
  /** Before a hash is computed: counts a try, or 429. */
  countAttempt(attempt: Attempt): void;
  /** It was right. */
  refund(attempt: Attempt): void;
  /** How a try that was counted and was wrong is answered. */
  failedAttempt(attempt: Attempt): AppError;
  /** Counts a key that is none, and how it is answered. */
  failedKey(network: string): AppError;
};

type Limit = readonly [name: string, rate: Rate];

/**
 * Bounds failed attempts to come in. Strangers share one small limit for each user, however many addresses they have,
 * and use up their address's; neither counts where the user has come in from before, so that nobody can lock an owner
 * out of the owner's own address. Right credentials use up nothing. What an unknown username is answered is what a
 * known one is.
 *
 * Someone at the very address of the owner (behind one NAT, or a proxy that TRUST_PROXY does not name) can use up the
 * limit of that address: nothing tells the two apart. API keys go on working: their limit changes no right answer.
 */
export function createLoginLimits(limiter: RateLimiter): LoginLimits {
  const refuseSpent = (attempt: Attempt): void => {
    for (const [name, rate] of limitsOf(attempt)) {
      const verdict = limiter.peek(name, rate);
      if (!verdict.allowed) throw tooMany(verdict);
    }
  };
  return {
    assertAllowed: refuseSpent,
    countAttempt(attempt) {
      refuseSpent(attempt);
      for (const [name, rate] of limitsOf(attempt)) limiter.take(name, rate);
    },
    refund(attempt) {
      for (const [name] of limitsOf(attempt)) limiter.refund(name);
    },
    failedAttempt: (attempt) => unauthenticated(limiter.peek(...limitsOf(attempt)[0])),
    failedKey(network) {
      const verdict = limiter.take(`a${network}`, RATE_PER_NETWORK);
      return verdict.allowed ? unauthenticated(verdict) : tooMany(verdict);
    },
  };
}

const limitsOf = ({ username, network, known }: Attempt): [Limit, ...Limit[]] =>
  known
    ? [[`o${digest(username, network)}`, RATE_FROM_KNOWN_NETWORK]]
    : [
        [`a${network}`, RATE_PER_NETWORK],
        [`s${digest(username)}`, RATE_FROM_UNKNOWN_NETWORKS],
      ];

/** Short, and ASCII, whatever a stranger calls a user. */
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
