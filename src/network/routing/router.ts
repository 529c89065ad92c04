import type { Pool } from 'pg';
import type { OnUnknown } from '../dispatch/sql.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { type PrefixTable, prefixTable } from '../../platform/lib/prefix-table.ts';
import { listRegisteredSenders } from '../senders/sql.ts';
import { listRoutes, type Route } from './sql.ts';

/**
 * The connections that a number on a channel is routed to, best first: the others are for when that one fails. Empty
 * when no route leads there. `destination` is E.164 with its plus. On RCS and WhatsApp the sender decides, and there is
 * one connection at most.
 */
export type FindRoute = (channel: Channel, destination: string, sender?: string) => readonly number[];

/** Whether an account may send as this sender on RCS or WhatsApp: it has it, or every account does. True for SMS. */
export type MaySend = (accountId: number, channel: Channel, sender: string) => boolean;

/** What becomes of a single send to this number whose submit is never answered, as its first route says. */
export type FindPolicy = (channel: Channel, destination: string) => OnUnknown;

const NOWHERE: readonly number[] = [];

/**
 * Routing from memory: the longest prefix wins, and its routes follow each other by their priority numbers. The table is
 * small and read for every message, so it is kept here and read again at each change.
 */
export function createRouter(pool: Pool): Router {
  let table: PrefixTable<readonly number[]> = prefixTable([]);
  let policies: PrefixTable<OnUnknown> = prefixTable([]);
  let senders: ReadonlyMap<string, SenderRoute> = new Map();
  return {
    find: (channel, destination, sender = '') =>
      channel === 'SMS'
        ? (table.find(channel, destination) ?? NOWHERE)
        : (senders.get(keyOf(channel, sender))?.connectionIds ?? NOWHERE),
    findPolicy: (channel, destination) => policies.find(channel, destination) ?? 'hold',
    maySend(accountId, channel, sender) {
      if (channel === 'SMS') return true;
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
  readonly findPolicy: FindPolicy;
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
 * Real carriers and the sandbox do not stand in for each other: a message for a person must not end in the sandbox, which
 * would report it as delivered, and a trial must not reach a person.
 */
function rowOf(routes: readonly Route[]) {
  const [best] = routes;
  if (best === undefined) return [];
  const alike = routes.filter(({ sandbox }) => sandbox === best.sandbox);
  return [{ group: best.channel, prefix: best.prefix, value: alike.map(({ connectionId }) => connectionId) }];
}
