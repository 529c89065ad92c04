import { LRUCache } from 'lru-cache';
import { accountAway, AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { createAddressList } from '../../platform/lib/address.ts';
import { type Channel, outsidePlanMessage } from '../../platform/lib/channel.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import { type Rate, rateHeaders, type RateLimiter } from '../../platform/lib/limits/rate-limit.ts';
import type { AccountGate } from './sql.ts';

/**
 * Throws 503 when the account is moving to another cell, and 403 when it is suspended or the address is not on its
 * allow-list. Call it only after the credentials have proved right, so that a stranger learns nothing.
 */
export function refuseAtGate({ accountStatus, allowList, away }: AccountGate, address: string): void {
  if (away) throw accountAway();
  if (accountStatus === 'suspended') throw new AppError('forbidden', { message: 'The account is suspended' });
  if (allowList !== null && !addressListOf(allowList)(address))
    throw new AppError('forbidden', { message: "This address is not on the account's allow-list" });
}

/** Throws 403 when the plan of the caller's account does not include all these channels (contract 1). */
export function refuseOutsidePlan({ channels }: Pick<Actor, 'channels'>, wanted: readonly Channel[]): void {
  const message = outsidePlanMessage(channels, wanted);
  if (message !== undefined) throw new AppError('forbidden', { message });
}

/** Parsed allow-lists by their text. The text is read with each request; only the parsing is saved. */
const lists = new LRUCache<string, ReturnType<typeof createAddressList>>({ max: 1000 });

function addressListOf(blocks: readonly string[]): (address: string) => boolean {
  const text = blocks.join();
  const list = lists.get(text) ?? createAddressList(blocks);
  lists.set(text, list);
  return list;
}

/** The limits of contract 1; null means no limit. */
const RATE_PER_PLAN: Readonly<Record<Plan, Rate | null>> = {
  production: { perMinute: 1000, perSecond: 50 },
  trial: { perMinute: 100, perSecond: 10 },
  unlimited: null,
};
/** Default of `perSecond` where an operator set `perMinute` alone: a twentieth of it, as in the production plan. */
const BURST_DIVISOR = 20;

/** Returns the request limit of each key and each user of the account; null means no limit. */
export function rateOf({ plan, ratePerMinute, ratePerSecond }: Omit<AccountGate, 'allowList'>): Rate | null {
  if (ratePerMinute === null) return RATE_PER_PLAN[plan];
  if (ratePerMinute === 0) return null;
  return { perMinute: ratePerMinute, perSecond: ratePerSecond ?? Math.ceil(ratePerMinute / BURST_DIVISOR) };
}

/** The headers of a caller without a limit: a number that every client can read and none takes as a reason to wait. */
const NO_LIMIT = rateHeaders({ limit: 2 ** 31 - 1, remaining: 2 ** 31 - 1, resetSeconds: 0 });

/**
 * Counts one request and returns its rate-limit headers. Throws 429 with the same headers when the limit is reached.
 */
export function countRequest(limiter: RateLimiter, name: string, rate: Rate | null): Readonly<Record<string, string>> {
  if (rate === null) return NO_LIMIT;
  const verdict = limiter.take(name, rate);
  const headers = rateHeaders(verdict);
  if (verdict.allowed) return headers;
  throw new AppError('rate_limited', { retryAfterSeconds: verdict.retryAfterSeconds, headers });
}
