import { LRUCache } from 'lru-cache';
import type { Receiver } from '../../network/connections/receivers.ts';
import { networkOf } from '../../platform/lib/address.ts';

const MAX_REMEMBERED = 10_000;
const DAY_MS = 24 * 3_600_000;

/** Source addresses of correctly signed callbacks, by connection. */
export type KnownSenders = {
  /** Records that a correctly signed callback came from this address. */
  add(receiver: Receiver, ip: string): void;
  has(receiver: Receiver, ip: string): boolean;
};

/**
 * Remembers for a day from which networks the callbacks of a connection come. Carriers share their addresses with
 * others (anyone can make Google post to us): failures of those must not lock out the carrier.
 */
export function createKnownSenders(): KnownSenders {
  const known = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: DAY_MS });
  const nameOf = ({ connectionId }: Receiver, ip: string): string => `${connectionId} ${networkOf(ip)}`;
  return {
    add: (receiver, ip) => void known.set(nameOf(receiver, ip), true),
    has: (receiver, ip) => known.has(nameOf(receiver, ip)),
  };
}
