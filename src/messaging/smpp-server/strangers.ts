import { LRUCache } from 'lru-cache';
import { networkOf } from '../../platform/lib/address.ts';
import { createRateLimiter, type Rate } from '../../platform/lib/limits/rate-limit.ts';

/** Maximum open connections without a bind: of one network, and of all. */
const MAX_PER_NETWORK = 20;
const MAX_IN_ALL = 1000;
/** Attempts of all new networks together, as a multiple of those of one: about 3 ms of work each, most of it TLS. */
const NETWORKS_IN_ALL = 20;
/** Binds per minute that do not count as attempts; further ones do: each costs a password hash and a transaction. */
const FREE_BINDS = 5;
/** Maximum networks that are remembered, with about 500 bytes each. */
const MAX_NETWORKS = 10_000;
/** Key of all new networks together in the limiter. */
const ALL_NEW = 'all';

/** The exceeded bound for which a connection is closed before anything is read. */
export type StrangerBound = 'connections_of_network' | 'connections' | 'attempts_of_network' | 'attempts';

/** A connection that was admitted. Both functions may be called in any order, and twice. */
export type Admitted = {
  /** Called when it has bound: it no longer counts as unbound, and was no attempt. */
  bound(): void;
  /** Called when it has ended. */
  ended(): void;
};

export type Strangers = {
  /** Counts a connection, or returns the bound that it exceeds. */
  admit(address: string): Admitted | StrangerBound;
};

type Options = {
  /** Connections of one network in a minute that do not lead to a bind; 0: any number. */
  readonly attemptsPerMinute: number;
  /** Networks from which a client had bound before this process started. */
  readonly known?: readonly string[];
  readonly perNetwork?: number;
  readonly inAll?: number;
  /** A monotonic clock in ms. */
  readonly now?: () => number;
};

/**
 * Creates the bounds of connections that have not bound: how many are open, and how many begin in a minute, of one
 * network and of all. They are checked before the TLS handshake. Networks from which a client has bound are counted
 * separately, so that unauthenticated clients cannot take the places of customers; each process counts for itself, in
 * at most 10 MB.
 */
export function createStrangers(options: Options): Strangers {
  const { attemptsPerMinute, perNetwork = MAX_PER_NETWORK, inAll = MAX_IN_ALL, now } = options;
  const limiter = createRateLimiter({ maxNames: MAX_NETWORKS, ...(now && { now }) });
  const binds = createRateLimiter({ maxNames: MAX_NETWORKS, ...(now && { now }) });
  const known = new LRUCache<string, true>({ max: MAX_NETWORKS });
  for (const network of options.known ?? []) known.set(network, true);
  const openOf = new Map<string, number>();
  const open = { known: 0, new: 0 };
  const ofNetwork = rateOf(attemptsPerMinute);
  const ofAll = rateOf(attemptsPerMinute * NETWORKS_IN_ALL);

  function exceeded(network: string, kind: keyof typeof open): StrangerBound | null {
    if ((openOf.get(network) ?? 0) >= perNetwork) return 'connections_of_network';
    if (open[kind] >= inAll) return 'connections';
    if (attemptsPerMinute === 0) return null;
    if (!limiter.take(network, ofNetwork).allowed) return 'attempts_of_network';
    if (kind === 'known' || limiter.take(ALL_NEW, ofAll).allowed) return null;
    limiter.refund(network);
    return 'attempts';
  }

  function refund(network: string, kind: keyof typeof open): void {
    if (attemptsPerMinute === 0 || !binds.take(network, rateOf(attemptsPerMinute * FREE_BINDS)).allowed) return;
    limiter.refund(network);
    if (kind === 'new') limiter.refund(ALL_NEW);
  }

  return {
    admit(address) {
      const network = networkOf(address);
      const kind = known.get(network) ? 'known' : 'new';
      const bound = exceeded(network, kind);
      if (bound !== null) return bound;
      openOf.set(network, (openOf.get(network) ?? 0) + 1);
      open[kind] += 1;
      let hasLeft = false;
      const leave = (): boolean => {
        if (hasLeft) return false;
        hasLeft = true;
        open[kind] -= 1;
        const rest = (openOf.get(network) ?? 1) - 1;
        if (rest === 0) openOf.delete(network);
        else openOf.set(network, rest);
        return true;
      };
      return {
        bound() {
          if (!leave()) return;
          known.set(network, true);
          refund(network, kind);
        },
        ended: () => void leave(),
      };
    },
  };
}

/** Converts a rate per minute. All of it may be used within one second: a customer opens its binds together. */
const rateOf = (perMinute: number): Rate => ({ perMinute, perSecond: perMinute });
