import { LRUCache } from 'lru-cache';
import { AppError } from '../../platform/errors.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import { createAddressList } from '../../platform/lib/address.ts';
import { type Rate, rateHeaders, type RateLimiter } from '../../platform/lib/rate-limit.ts';
import type { AccountGate } from './sql.ts';

/**
 * 403 to right credentials of a suspended account, or from an address that is not on its list. Only to right ones: a
 * stranger learns neither.
 */
export function refuseAtGate({ accountStatus, allowList }: AccountGate, address: string): void {
  if (accountStatus === 'suspended') throw new AppError('forbidden', { message: 'The account is suspended' });
  if (allowList !== null && !listOf(allowList)(address))
    throw new AppError('forbidden', { message: "This address is not on the account's allow-list" });
}

/** Lists by their text: what is read with each request is the text, and only the making of the list is saved. */
const lists = new LRUCache<string, ReturnType<typeof createAddressList>>({ max: 1000 });

function listOf(blocks: readonly string[]): (address: string) => boolean {
  const text = blocks.join();
  const list = lists.get(text) ?? createAddressList(blocks);
  lists.set(text, list);
  return list;
}

/** Contract 1. */
const RATE_OF_PLAN: Readonly<Record<Plan, Rate | null>> = {
  production: { perMinute: 1000, perSecond: 50 },
  trial: { perMinute: 100, perSecond: 10 },
  unlimited: null,
};
/** A burst takes as much of an operator's rate as of the production plan's. */
const SECONDS_OF_BURSTS = 20;

/** What each key and each user of the account may ask for; null: anything. */
export function rateOf({ plan, ratePerMinute, ratePerSecond }: Omit<AccountGate, 'allowList'>): Rate | null {
  if (ratePerMinute === null) return RATE_OF_PLAN[plan];
  if (ratePerMinute === 0) return null;
  return { perMinute: ratePerMinute, perSecond: ratePerSecond ?? Math.ceil(ratePerMinute / SECONDS_OF_BURSTS) };
}

/** The headers of a caller without a limit: what every client can read, and none takes for a reason to wait. */
const NO_LIMIT = rateHeaders({ limit: 2 ** 31 - 1, remaining: 2 ** 31 - 1, resetSeconds: 0 });

/** Counts one request; its headers, or 429 with the same headers. */
export function countRequest(limiter: RateLimiter, name: string, rate: Rate | null): Readonly<Record<string, string>> {
  if (rate === null) return NO_LIMIT;
  const verdict = limiter.take(name, rate);
  const headers = rateHeaders(verdict);
  if (verdict.allowed) return headers;
  throw new AppError('rate_limited', { retryAfterSeconds: verdict.retryAfterSeconds, headers });
}
