import type { Pool } from 'pg';
import type { Channel } from '../../platform/lib/channel.ts';
import { type PrefixTable, prefixTable } from '../../platform/lib/phone/prefix-table.ts';
import { isRoutedBySender } from '../connections/kinds/kind.ts';
import { listRegisteredSenders } from '../senders/sql.ts';
import { type Costs, NO_COSTS } from '../costs/cost-list.ts';
import { findWay } from './choice/choose.ts';
import type { Traffic } from './conditions/conditions.ts';
import { economicsOf } from './choice/economics.ts';
import { type NetworkUse, networkUseOf, type Recipient } from './choice/network-use.ts';
import { NO_WAY, type Plan, planRoutes, type Way } from './choice/plan.ts';
import { type Explanation, explain, type Question } from './explain.ts';
import { listPolicies } from './policies/sql.ts';
import { listRoutes } from './sql.ts';
import { listStandings } from './standings/sql.ts';

/**
 * Returns the way of a message to a number on a channel; no connections when there is no route. `destination` is E.164
 * with its plus. On channels that are routed by sender, the sender determines the connection, and there is at most one.
 */
export type FindRoute = (channel: Channel, destination: string, traffic: Traffic) => Way;

/**
 * Returns true if an account may send as this sender: it is the account's own, or shared by all accounts. Always true
 * on channels that are routed by prefix.
 */
export type MaySend = (accountId: number, channel: Channel, sender: string) => boolean;

export type Router = {
  readonly find: FindRoute;
  readonly maySend: MaySend;
  /** Explains how a message on SMS would be routed. */
  explain(question: Question): Explanation;
  /** Returns the effect of a number's network on an SMS; null if none, so that it need not be looked up. */
  networkUse(recipient: Recipient): NetworkUse | null;
  reload(): Promise<void>;
};

/**
 * Creates a router that works from memory: the longest prefix wins, and its routes are ordered by their priority
 * numbers, or by the policy of the number. The tables are small and read for every message, so they are kept in memory
 * and reloaded after each change. `findCost` and `dependsOnNetwork` are from a list of costs that is reloaded with it.
 */
export function createRouter(
  pool: Pool,
  findCost: Costs['find'] = NO_COSTS.find,
  dependsOnNetwork: Costs['dependsOnNetwork'] = NO_COSTS.dependsOnNetwork,
): Router {
  let economics = economicsOf([], [], findCost);
  let plans: PrefixTable<Plan> = prefixTable([]);
  let senders: ReadonlyMap<string, SenderRoute> = new Map();
  return {
    find: (channel, destination, traffic) =>
      isRoutedBySender(channel)
        ? (senders.get(keyOf(channel, traffic.sender))?.way ?? NO_WAY)
        : findWay(plans.find(channel, destination), { channel, destination, traffic, economics }),
    maySend(accountId, channel, sender) {
      if (!isRoutedBySender(channel)) return true;
      const ownerId = senders.get(keyOf(channel, sender))?.ownerId;
      return ownerId === null || ownerId === accountId;
    },
    explain: ({ destination, accountId, sender, network, at }) =>
      explain(plans.find('SMS', destination), {
        channel: 'SMS',
        destination,
        economics,
        traffic: { accountId: accountId ?? 0, sender: sender ?? '', network, at, key: destination, salt: 0 },
      }),
    networkUse: (recipient) =>
      networkUseOf(plans.find('SMS', recipient.destination), recipient, { economics, dependsOnNetwork }),
    async reload() {
      const [routes, registered, policies, standings] = await Promise.all([
        listRoutes(pool),
        listRegisteredSenders(pool),
        listPolicies(pool),
        listStandings(pool),
      ]);
      senders = new Map(
        registered.map(({ channel, identity, ...sender }) => [keyOf(channel, identity), routeOf(sender)]),
      );
      economics = economicsOf(policies, standings, findCost);
      plans = planRoutes(routes, economics.mayApply);
    },
  };
}

type SenderRoute = { readonly way: Way; readonly ownerId: number | null };

const keyOf = (channel: Channel, identity: string): string => `${channel}/${identity}`;

const routeOf = ({ connectionId, ownerId }: { connectionId: number; ownerId: number | null }): SenderRoute => ({
  way: { ...NO_WAY, connectionIds: [connectionId] },
  ownerId,
});
