import type { Grant, Network } from './networks/network.ts';

/**
 * When a grant is to be renewed: so long before its end as the network wants it, and not before half of its life. One that
 * cannot be renewed is looked at when it ends. Null: it does not end.
 */
export function refreshAtOf(network: Network, { expiresAt, refresh }: Grant, now: Date): Date | null {
  if (expiresAt === null) return null;
  const lifeMs = Math.max(0, expiresAt.getTime() - now.getTime());
  const leadMs = refresh !== null || network.renew ? Math.min(network.leadMs, lifeMs / 2) : 0;
  return new Date(expiresAt.getTime() - leadMs);
}
