import { networkOf } from '../platform/lib/address.ts';
import { AppError } from '../platform/errors.ts';
import { createRateLimiter, rateHeaders } from '../platform/lib/limits/rate-limit.ts';

/**
 * Creates a limit on requests without credentials, by the caller's network: throws 429 beyond `perMinute`. Each process
 * counts by itself, since these requests cost little and what they cause is limited in the database too.
 */
export function createDoorLimit(perMinute: number): (ip: string) => void {
  const limiter = createRateLimiter();
  return (ip) => {
    const verdict = limiter.take(networkOf(ip), { perMinute, perSecond: perMinute });
    if (verdict.allowed) return;
    throw new AppError('rate_limited', {
      retryAfterSeconds: verdict.retryAfterSeconds,
      headers: rateHeaders(verdict),
    });
  };
}
