import { LRUCache } from 'lru-cache';
import { AccountAway, AppError } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { createAddressList } from '../../platform/lib/address.ts';
import { type Channel, outsidePlanMessage } from '../../platform/lib/channel.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import { type Rate, rateHeaders, type RateLimiter } from '../../platform/lib/limits/rate-limit.ts';
import type { AccountGate } from './sql.ts';

/**
 * Throws 503 when the account is moving to another cell, and 403 when it is suspended or the address is not on its
 * allow-list. Call it only after the credentials have proved right, so that an unauthenticated client learns nothing.
 */
export function refuseAtGate({ accountId, accountStatus, allowList, away }: AccountGate, address: string): void {
  if (away) throw new AccountAway([accountId]);
  if (accountStatus === 'suspended') throw new AppError('forbidden', { message: 'The account is suspended' });
  if (allowList !== null && !addressListOf(allowList)(address))
    throw new AppError('forbidden', { message: "This address is not on the account's allow-list" });
}

/** Throws 403 when the plan of the caller's account does not include all these channels. */
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

/** The limits of each plan; null means no limit. */
const RATE_PER_PLAN: Readonly<Record<Plan, Rate | null>> = {
  production: { perMinute: 1000, perSecond: 50 },
  trial: { perMinute: 100, perSecond: 10 },
  unlimited: null,
};
/** Default of `perSecond` where an operator set `perMinute` alone: a twentieth of it, as in the production plan. */
const BURST_DIVISOR = 20;

type RateGate = Pick<AccountGate, 'plan' | 'ratePerMinute' | 'ratePerSecond'>;

/** Returns the request limit of each key and each user of the account; null means no limit. */
export function rateOf({ plan, ratePerMinute, ratePerSecond }: RateGate): Rate | null {
  if (ratePerMinute === null) return RATE_PER_PLAN[plan];
  if (ratePerMinute === 0) return null;
  return { perMinute: ratePerMinute, perSecond: ratePerSecond ?? Math.ceil(ratePerMinute / BURST_DIVISOR) };
}

/** The request limit of each session, whatever the plan: a page makes several requests to display itself. */
export const SESSION_RATE: Rate = { perMinute: 1200, perSecond: 60 };

/**
 * Number of keys of an account that can work at their limit: each key has its own limit, and all keys together this
 * many times as much.
 */
const KEYS_AT_LIMIT = 2;
/** The same for sessions: each is a person in a browser, who rarely makes a tenth of the requests allowed. */
const SESSIONS_AT_LIMIT: Readonly<Record<Plan, number>> = { production: 10, trial: 2, unlimited: Infinity };

/** The limit of one caller, or of several callers together. Its name is ASCII without spaces. */
export type Limit = { readonly name: string; readonly rate: Rate | null };

/** Returns the limit of all keys and passwords of an account together, so that more of them make no more requests. */
export const limitOfKeys = ({ accountId, ...gate }: RateGate & Pick<AccountGate, 'accountId'>): Limit => ({
  name: `A${accountId}`,
  rate: times(rateOf(gate), KEYS_AT_LIMIT),
});

/** Returns the limit of all sessions of an account together; none if its keys have none. */
export const limitOfSessions = ({ accountId, ...gate }: RateGate & Pick<AccountGate, 'accountId'>): Limit => ({
  name: `S${accountId}`,
  rate: rateOf(gate) === null ? null : times(SESSION_RATE, SESSIONS_AT_LIMIT[gate.plan]),
});

const times = (rate: Rate | null, factor: number): Rate | null =>
  rate === null ? null : { perMinute: rate.perMinute * factor, perSecond: rate.perSecond * factor };

/** The headers of a caller without a limit: a number that every client can read and none takes as a reason to wait. */
const NO_LIMIT = rateHeaders({ limit: 2 ** 31 - 1, remaining: 2 ** 31 - 1, resetSeconds: 0 });

/**
 * Counts one request of a caller, also within the limit that it shares with the rest of its account, and returns the
 * rate-limit headers of the caller. Throws 429 with the headers of the limit that is reached, and then counts nothing.
 */
export function countRequest(limiter: RateLimiter, own: Limit, shared?: Limit): Readonly<Record<string, string>> {
  const headers = take(limiter, own);
  try {
    if (shared) take(limiter, shared, 'All credentials of this account together have made too many requests');
  } catch (error) {
    if (own.rate !== null) limiter.refund(own.name);
    throw error;
  }
  return headers;
}

function take(limiter: RateLimiter, { name, rate }: Limit, message?: string): Readonly<Record<string, string>> {
  if (rate === null) return NO_LIMIT;
  const verdict = limiter.take(name, rate);
  const headers = rateHeaders(verdict);
  if (verdict.allowed) return headers;
  const { retryAfterSeconds } = verdict;
  throw new AppError('rate_limited', { retryAfterSeconds, headers, ...(message !== undefined && { message }) });
}
