import type { Pool } from 'pg';
import type { OnUnknown } from '../dispatch/sql.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { type PrefixTable, prefixTable } from '../../platform/lib/phone/prefix-table.ts';
import { isRoutedBySender } from '../connections/kinds/kind.ts';
import { listRegisteredSenders } from '../senders/sql.ts';
import { listRoutes, type Route } from './sql.ts';

/**
 * Returns the connections to which a number on a channel is routed, best first: the others are for failover. Empty when
 * there is no route. `destination` is E.164 with its plus. On channels that are routed by sender, the sender determines the
 * connection, and there is at most one.
 */
export type FindRoute = (channel: Channel, destination: string, sender?: string) => readonly number[];

/**
 * Returns whether an account may send as this sender: it is the account's own, or shared by all accounts. Always true on
 * channels that are routed by prefix.
 */
export type MaySend = (accountId: number, channel: Channel, sender: string) => boolean;

/** Returns what happens to a single send to this number that is never answered, according to its first route. */
export type FindPolicy = (channel: Channel, destination: string) => OnUnknown;

const NOWHERE: readonly number[] = [];

/**
 * Creates a router that works from memory: the longest prefix wins, and its routes are ordered by their priority numbers. The
 * table is small and read for every message, so it is kept in memory and reloaded after each change.
 */
export function createRouter(pool: Pool): Router {
  let table: PrefixTable<readonly number[]> = prefixTable([]);
  let policies: PrefixTable<OnUnknown> = prefixTable([]);
  let senders: ReadonlyMap<string, SenderRoute> = new Map();
  return {
    find: (channel, destination, sender = '') =>
      isRoutedBySender(channel)
        ? (senders.get(keyOf(channel, sender))?.connectionIds ?? NOWHERE)
        : (table.find(channel, destination) ?? NOWHERE),
    findOnUnknown: (channel, destination) => policies.find(channel, destination) ?? 'hold',
    maySend(accountId, channel, sender) {
      if (!isRoutedBySender(channel)) return true;
      const ownerId = senders.get(keyOf(channel, sender))?.ownerId;
      return ownerId === null || ownerId === accountId;
    },
    async reload() {
      // The best route of each prefix comes first.
      const [routes, registered] = await Promise.all([listRoutes(pool), listRegisteredSenders(pool)]);
      senders = new Map(
        registered.map(({ channel, identity, ...sender }) => [keyOf(channel, identity), routeOf(sender)]),
      );
      policies = prefixTable(routes.map((r) => ({ group: r.channel, prefix: r.prefix, value: r.onUnknown })));
      const byPrefix = Map.groupBy(routes, ({ channel, prefix }) => `${channel}/${prefix}`);
      table = prefixTable([...byPrefix.values()].flatMap(rowOf));
    },
  };
}

type Router = {
  readonly find: FindRoute;
  readonly findOnUnknown: FindPolicy;
  readonly maySend: MaySend;
  reload(): Promise<void>;
};

type SenderRoute = { readonly connectionIds: readonly number[]; readonly ownerId: number | null };

const keyOf = (channel: Channel, identity: string): string => `${channel}/${identity}`;

const routeOf = ({ connectionId, ownerId }: { connectionId: number; ownerId: number | null }): SenderRoute => ({
  connectionIds: [connectionId],
  ownerId,
});

/**
 * Real carriers and the sandbox do not replace each other: a message for a person must not go to the sandbox, which would
 * report it as delivered, and a test must not reach a person.
 */
function rowOf(routes: readonly Route[]) {
  const [best] = routes;
  if (best === undefined) return [];
  const interchangeable = routes.filter(({ sandbox }) => sandbox === best.sandbox);
  return [{ group: best.channel, prefix: best.prefix, value: interchangeable.map(({ connectionId }) => connectionId) }];
}
