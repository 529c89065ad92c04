import type { Grant, Network } from './networks/network.ts';

/**
 * Returns the time at which a grant is to be renewed: the lead time of the network before its expiry, but not before
 * half of its life. A grant that cannot be renewed is due when it expires. Null: it does not expire.
 */
export function refreshAtOf(network: Network, { expiresAt, refresh }: Grant, now: Date): Date | null {
  if (expiresAt === null) return null;
  const lifeMs = Math.max(0, expiresAt.getTime() - now.getTime());
  const leadMs = refresh !== null || network.renew ? Math.min(network.leadMs, lifeMs / 2) : 0;
  return new Date(expiresAt.getTime() - leadMs);
}
