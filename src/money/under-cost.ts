import type { Channel } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { fromMicros } from '../core/money.ts';
import { prefixesIn, prefixTable } from '../core/phone.ts';
import { listCosts } from '../routing/costs.ts';
import { type Conditions, describeConditions, listRoutes } from '../routing/routes.ts';
import { listPrices } from './prices.ts';
import { priceRows } from './pricing.ts';

type PricedRoute = Conditions & {
  readonly id: number;
  readonly channel: Channel;
  readonly prefix: string;
  readonly connection: string;
  readonly connectionId: number;
  readonly weight: number | null;
};
type PricedNumbers = { readonly channel: Channel; readonly prefix: string; readonly unitMicros: number };
type CostedNumbers = {
  readonly connectionId: number;
  readonly prefix: string;
  readonly network: string | null;
  readonly unitMicros: number;
};

/** A route that sells some of its numbers below its carrier's charge, with those of the largest loss. */
export type UnderCost = {
  readonly routeId: number;
  readonly connection: string;
  readonly routePrefix: string;
  /** The conditions of the route, in words; null if none. */
  readonly conditions: string | null;
  /** The numbers with the largest loss: their prefix, and the network if the cost is for one. */
  readonly prefix: string;
  readonly network: string | null;
  readonly priceMicros: number;
  readonly costMicros: number;
};

/** Lists the routes priced below cost, the largest loss for each part first. */
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
 * Compares price and cost of all numbers that a route takes: those with its prefix and with each longer one that has a
 * price or a cost, unless a longer route without conditions takes these. A route with conditions is compared like one
 * without: whether any message meets them is unknown. The work for a route grows with the lists, not with their
 * product.
 */
export function findUnderCost({ routes, prices, costs }: Lists): UnderCost[] {
  const taken = prefixTable(
    routes.filter(takesAll).map(({ channel: group, prefix }) => ({ group, prefix, value: prefix.length })),
  );
  const findPrice = priceRows(prices);
  const priceOf = (channel: Channel, prefix: string): number | undefined =>
    findPrice({ channel, destination: `+${prefix}`, parts: 1 })?.unitMicros;
  const costsOf = new Map(
    [...Map.groupBy(costs, (cost) => cost.connectionId)].map(([id, own]) => [id, costIndex(own)]),
  );
  const found = routes.flatMap((route) => {
    const { channel } = route;
    const own = costsOf.get(route.connectionId);
    if (own === undefined) return [];
    const stated = [...own.keys(), ...prices.filter((price) => price.channel === channel).map(({ prefix }) => prefix)];
    const begins = route.network === null ? [route.prefix] : prefixesIn(route.network, route.prefix);
    const prefixes = new Set(
      begins.flatMap((begin) => [begin, ...stated.filter((prefix) => prefix.startsWith(begin))]),
    );
    const losses = [...prefixes]
      .filter((prefix) => (taken.find(channel, `+${prefix}`) ?? 0) <= route.prefix.length)
      .flatMap((prefix) => lossOf(prefix, priceOf(channel, prefix), costsAt(own, prefix, route.network)));
    const worst = worstOf(losses);
    const { id: routeId, connection, prefix: routePrefix } = route;
    return worst ? [{ routeId, connection, routePrefix, conditions: conditionsOf(route), ...worst }] : [];
  });
  return found.toSorted(byLoss);
}

const takesAll = ({ network, accountId, sender, hours, purpose }: PricedRoute): boolean =>
  (network ?? accountId ?? sender ?? hours ?? purpose) === null;

function conditionsOf(route: PricedRoute): string | null {
  const share = route.weight === null ? [] : [`weight ${route.weight}`];
  return [describeConditions(route), ...share].filter((text) => text !== '').join(', ') || null;
}

/** The costs of a connection, by the prefix of the numbers that they are for. */
type CostIndex = ReadonlyMap<string, readonly CostedNumbers[]>;

/** Indexes costs by prefix. A cost by network alone is for the countries of the network. */
function costIndex(costs: readonly CostedNumbers[]): CostIndex {
  const rows = costs.flatMap((cost) =>
    (cost.network === null ? [cost.prefix] : prefixesIn(cost.network, cost.prefix)).map((begin) => ({ begin, cost })),
  );
  const grouped = Map.groupBy(rows, ({ begin }) => begin);
  return new Map([...grouped].map(([begin, own]) => [begin, own.map(({ cost }) => cost).toSorted(byPrefix)]));
}

const byPrefix = (a: CostedNumbers, b: CostedNumbers): number => b.prefix.length - a.prefix.length;

/** Returns the cost of each network for numbers with a prefix, or only of the network that a route names. */
function costsAt(index: CostIndex, prefix: string, only: string | null): ReadonlyMap<string | null, number> {
  const found = new Map<string | null, number>();
  for (let length = prefix.length; length >= 0; length--)
    for (const { network, unitMicros } of index.get(prefix.slice(0, length)) ?? [])
      if (!found.has(network)) found.set(network, unitMicros);
  if (only === null) return found;
  const own = found.get(only) ?? found.get(null);
  return new Map(own === undefined ? [] : [[only, own]]);
}

type Loss = Pick<UnderCost, 'prefix' | 'network' | 'priceMicros' | 'costMicros'>;

/** Returns the largest loss on numbers with a prefix: at the cost without a network, or in one of the networks. */
function lossOf(prefix: string, priceMicros: number | undefined, costs: ReadonlyMap<string | null, number>): Loss[] {
  if (priceMicros === undefined) return [];
  const losses = [...costs].map(([network, costMicros]) => ({ prefix, network, priceMicros, costMicros }));
  const worst = worstOf(losses.filter(({ costMicros }) => costMicros > priceMicros));
  return worst ? [worst] : [];
}

const worstOf = (losses: readonly Loss[]): Loss | undefined =>
  losses.reduce<Loss | undefined>((worst, loss) => (worst && byLoss(worst, loss) <= 0 ? worst : loss), undefined);

const byLoss = (a: Loss, b: Loss): number => b.costMicros - b.priceMicros - (a.costMicros - a.priceMicros);

/** Describes in a sentence a route priced below cost, with amounts in currency units. */
export function describeUnderCost({
  connection,
  routePrefix,
  conditions,
  prefix,
  network,
  ...amounts
}: UnderCost): string {
  const own = conditions === null ? '' : ` (${conditions})`;
  const route = `${routePrefix === '' ? 'all numbers' : `+${routePrefix}`} over ${connection}${own}`;
  const numbers = prefix === '' ? 'all numbers' : `+${prefix}`;
  const where = network === null ? numbers : `${numbers} in network ${network}`;
  return `${route}: ${where} sell for ${fromMicros(amounts.priceMicros)} and cost ${fromMicros(amounts.costMicros)}`;
}
