import type { Pool } from 'pg';
import type { Channel } from '../lib/channel.ts';
import { type PrefixTable, prefixTable } from '../lib/prefix-table.ts';
import { listRoutes } from './sql.ts';

/** NOTIFY channel that is raised by every change of routes, connections and prices. */
export const ROUTING_CHANNEL = 'heliograph_routing';

/** The connection that a number on a channel is routed to, or null. `destination` is E.164 with its plus. */
export type FindRoute = (channel: Channel, destination: string) => number | null;

/**
 * Routing from memory: the longest prefix wins, then the lowest priority number. The table is small and read for
 * every message, so it is kept here and read again at each change.
 */
export function createRouter(pool: Pool): { find: FindRoute; reload(): Promise<void> } {
  let table: PrefixTable<number> = prefixTable([]);
  return {
    find: (channel, destination) => table.find(channel, destination) ?? null,
    async reload() {
      // The best route of each prefix comes first.
      const routes = await listRoutes(pool);
      table = prefixTable(
        routes.map(({ channel, prefix, connectionId }) => ({ group: channel, prefix, value: connectionId })),
      );
    },
  };
}
