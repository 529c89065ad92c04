import { listCosts } from '../../network/costs/sql.ts';
import { listRoutes } from '../../network/routing/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { prefixTable } from '../../platform/lib/phone/prefix-table.ts';
import { listPrices } from '../pricing/sql.ts';

type PricedRoute = {
  readonly id: number;
  readonly channel: Channel;
  readonly prefix: string;
  readonly connection: string;
  readonly connectionId: number;
};
type PricedNumbers = { readonly channel: Channel; readonly prefix: string; readonly unitMicros: number };
type CostedNumbers = {
  readonly connectionId: number;
  readonly prefix: string;
  readonly network: string | null;
  readonly unitMicros: number;
};

/** A route that sells some of its numbers for less than its carrier charges, with those of the largest loss. */
export type UnderCost = {
  readonly routeId: number;
  readonly connection: string;
  /** The prefix of the route. */
  readonly routePrefix: string;
  /** The numbers with the largest loss: their prefix, and the network where the cost is that of one. */
  readonly prefix: string;
  readonly network: string | null;
  readonly priceMicros: number;
  readonly costMicros: number;
};

/** Lists the routes that sell under cost, the largest loss for each part first. */
export async function listUnderCost(db: Db): Promise<UnderCost[]> {
  const costs = await listCosts(db);
  if (costs.length === 0) return [];
  return findUnderCost({ routes: await listRoutes(db), prices: await listPrices(db), costs });
}

type Lists = {
  readonly routes: readonly PricedRoute[];
  readonly prices: readonly PricedNumbers[];
  readonly costs: readonly CostedNumbers[];
};

/**
 * Compares price and cost of all numbers that a route takes: those with its prefix and with each longer one for which a
 * price or a cost is stated, unless a longer route takes these.
 */
export function findUnderCost({ routes, prices, costs }: Lists): UnderCost[] {
  const routePrefixes = prefixTable(routes.map(({ channel: group, prefix }) => ({ group, prefix, value: prefix })));
  const priceTable = prefixTable(
    prices.map(({ channel: group, prefix, unitMicros: value }) => ({ group, prefix, value })),
  );
  const found = routes.flatMap((route) => {
    const { channel, connectionId } = route;
    const own = costs.filter((cost) => cost.connectionId === connectionId);
    const pricesOfChannel = prices.filter((price) => price.channel === channel);
    const stated = [...own, ...pricesOfChannel].map(({ prefix }) => prefix);
    const prefixes = new Set([route.prefix, ...stated.filter((prefix) => prefix.startsWith(route.prefix))]);
    const losses = [...prefixes]
      .filter((prefix) => routePrefixes.find(channel, `+${prefix}`) === route.prefix)
      .flatMap((prefix) => lossOf(prefix, priceTable.find(channel, `+${prefix}`), own));
    const [worst] = losses.toSorted(byLoss);
    const { id: routeId, connection, prefix: routePrefix } = route;
    return worst ? [{ routeId, connection, routePrefix, ...worst }] : [];
  });
  return found.toSorted(byLoss);
}

type Loss = Pick<UnderCost, 'prefix' | 'network' | 'priceMicros' | 'costMicros'>;

/** The largest loss on numbers with a prefix: at the cost without a network, or in one of the networks. */
function lossOf(prefix: string, priceMicros: number | undefined, costs: readonly CostedNumbers[]): Loss[] {
  if (priceMicros === undefined) return [];
  const fitting = costs.filter((cost) => prefix.startsWith(cost.prefix));
  const byNetwork = Map.groupBy(fitting, ({ network }) => network);
  const losses = [...byNetwork].map(([network, list]) => {
    const longest = list.reduce((a, b) => (b.prefix.length > a.prefix.length ? b : a));
    return { prefix, network, priceMicros, costMicros: longest.unitMicros };
  });
  return losses
    .filter(({ costMicros }) => costMicros > priceMicros)
    .toSorted(byLoss)
    .slice(0, 1);
}

const byLoss = (a: Loss, b: Loss): number => b.costMicros - b.priceMicros - (a.costMicros - a.priceMicros);

/** Says in a sentence what a route sells under cost, with amounts in currency units. */
export function describeUnderCost({ connection, routePrefix, prefix, network, ...amounts }: UnderCost): string {
  const route = `${routePrefix === '' ? 'all numbers' : `+${routePrefix}`} over ${connection}`;
  const numbers = prefix === '' ? 'all numbers' : `+${prefix}`;
  const where = network === null ? numbers : `${numbers} in network ${network}`;
  return `${route}: ${where} sell for ${fromMicros(amounts.priceMicros)} and cost ${fromMicros(amounts.costMicros)}`;
}
