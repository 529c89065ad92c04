import type { Pool } from 'pg';
import type { Channel } from '../lib/channel.ts';
import { listRoutes, type Route } from './sql.ts';

/** NOTIFY channel that is raised by every change of routes and connections. */
export const ROUTING_CHANNEL = 'heliograph_routing';

/** The connection that a number on a channel is routed to, or null. `destination` is E.164 with its plus. */
export type FindRoute = (channel: Channel, destination: string) => number | null;

/**
 * Routing from memory: the longest prefix wins, then the lowest priority number. The table is small and read for
 * every message, so it is kept here and read again at each change.
 */
export function createRouter(pool: Pool): { find: FindRoute; reload(): Promise<void> } {
  let table = new Map<string, number>();
  let longest = 0;
  return {
    find(channel, destination) {
      for (let length = Math.min(longest, destination.length - 1); length >= 0; length--) {
        const connectionId = table.get(`${channel}${destination.slice(1, 1 + length)}`);
        if (connectionId !== undefined) return connectionId;
      }
      return null;
    },
    async reload() {
      const routes = await listRoutes(pool);
      table = toTable(routes);
      longest = Math.max(0, ...routes.map((route) => route.prefix.length));
    },
  };
}

/** The best route of each channel and prefix: `listRoutes` brings it first. */
function toTable(routes: readonly Route[]): Map<string, number> {
  const table = new Map<string, number>();
  for (const { channel, prefix, connectionId } of routes) {
    const key = `${channel}${prefix}`;
    if (!table.has(key)) table.set(key, connectionId);
  }
  return table;
}
