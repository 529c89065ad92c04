import { CHANNELS, type Channel } from '../core/channels.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { callingCodeOf, mayBeIn, type PrefixTable, prefixTable } from '../core/phone.ts';
import type { OnUnknown } from '../dispatch/store.ts';
import type { Costs, FindCost } from './costs.ts';
import type { Policy } from './policies.ts';
import { ALL_ROUTES, type Check, checksOf, describeConditions, type Route, type Traffic } from './routes.ts';
import { deliveredShare, keyOf, type Standing, type StandingRow } from './standings.ts';

/** The routes that a message may take, best first, and their prefix. */
type Choice = {
  readonly plan: Plan;
  readonly ranked: readonly PlannedRoute[];
  /** Offers by which they are ordered; null: by priority and weight. */
  readonly byCost: { readonly offers: readonly Offer[]; readonly explores: boolean } | null;
};

/** A message, with the data that selects its routes. */
export type Asked = {
  readonly channel: Channel;
  /** E.164 with its plus. */
  readonly destination: string;
  readonly traffic: Traffic;
  readonly economics: Economics;
  /** Test of the connections over which its sender is registered; null: it needs no registration. */
  readonly isRegistered: ((connectionId: number) => boolean) | null;
};

/**
 * Finds the routes of a message: those of the longest prefix with any route whose conditions are met and over whose
 * connection the sender may go, without the sandbox if the best is a real carrier, and vice versa. Null when there is
 * none.
 */
export function choose(longest: Plan, asked: Asked): Choice | null {
  const { channel, destination, traffic, economics, isRegistered } = asked;
  for (let plan: Plan | null = longest; plan !== null; plan = plan.shorter) {
    const met = plan.routes.filter(
      ({ checks, connectionId }) =>
        checks.every((check) => check.isMet(traffic)) && (isRegistered?.(connectionId) ?? true),
    );
    if (met.length === 0) continue;
    const ranked = interchangeable(shareTraffic(met, traffic));
    const policy = economics.policyFor(channel, destination);
    if (!policy) return { plan, ranked, byCost: null };
    const byCost = orderByCost(ranked, { policy, economics, destination, traffic });
    return { plan, ranked: byCost.offers.map(({ route }) => route), byCost };
  }
  return null;
}

/** Puts the routes that share the traffic of their priority into the order that they have for this message. */
function shareTraffic(routes: readonly PlannedRoute[], { key, salt }: Traffic): readonly PlannedRoute[] {
  if (routes.every(({ weight }) => weight === null)) return routes;
  const hash = hashOf(key, salt);
  const byPriority = Map.groupBy(routes, ({ priority }) => priority);
  return [...byPriority.values()].flatMap((group) => {
    const sharing = group.filter(({ weight }) => weight !== null);
    return [...shareOut(sharing, hash), ...group.filter(({ weight }) => weight === null)];
  });
}

/** Chooses the routes of a message. Where neither conditions, weights nor a policy decide, they are precomputed. */
export function chooseRoute(plan: Plan | undefined, asked: Asked): ChosenRoute {
  if (plan === undefined) return NO_ROUTE;
  const isFree = asked.isRegistered === null;
  if (plan.chosen !== null && isFree) return plan.chosen;
  const choice = choose(plan, asked);
  if (choice !== null) return (isFree && choice.plan.chosen) || chosenRoute(choice.ranked, reasonOf(choice));
  return isFree || choose(plan, { ...asked, isRegistered: null }) === null ? NO_ROUTE : NO_REGISTERED_ROUTE;
}

/** Describes why the first route was chosen, without amounts: users of the account read it. */
export function reasonOf({ plan, ranked, byCost }: Choice): string {
  const [best] = ranked;
  if (best === undefined) return '';
  const conditions = describeConditions(best);
  const place = plan.prefix === '' ? 'all numbers' : `prefix ${plan.prefix}`;
  const why = byCost === null ? shareOf(best, plan) : byCost.explores ? ', to try it' : ', by cost and quality';
  return `route ${best.id}: ${place}${conditions && `, ${conditions}`}${why}`;
}

function shareOf({ weight, priority }: PlannedRoute, { routes }: Plan): string {
  const sharing = routes.filter((route) => route.weight !== null && route.priority === priority);
  return weight !== null && sharing.length > 1 ? `, by weight ${weight}` : '';
}

/** Inputs for ordering routes by cost and quality. */
type Economics = {
  /** The policy for a number, in E.164 with its plus; undefined where routes go by priority. */
  policyFor(channel: Channel, destination: string): Policy | undefined;
  /** Returns true if a number of a prefix, or a longer one, may have a policy by cost. */
  mayApply(channel: string, prefix: string): boolean;
  readonly findCost: FindCost;
  standingOf(policy: Policy, connectionId: number, country: string): StandingRow | undefined;
};

export function economicsOf(
  policies: readonly Policy[],
  standings: readonly StandingRow[],
  findCost: FindCost,
): Economics {
  const table: PrefixTable<Policy> = prefixTable(
    policies.map((policy) => ({ group: policy.channel, prefix: policy.prefix, value: policy })),
  );
  const byCost = policies.filter(({ policy }) => policy === 'least-cost');
  const known = new Map(standings.map((row) => [keyOf(row), row]));
  return {
    policyFor(channel, destination) {
      const policy = table.find(channel, destination);
      return policy?.policy === 'least-cost' ? policy : undefined;
    },
    mayApply: (channel, prefix) =>
      byCost.some((own) => own.channel === channel && (own.prefix.startsWith(prefix) || prefix.startsWith(own.prefix))),
    findCost,
    standingOf: ({ id }, connectionId, country) => known.get(keyOf({ policyId: id, connectionId, country })),
  };
}

/** A route with its cost and quality. */
type Offer = {
  readonly route: PlannedRoute;
  /** Charge of the carrier, in millionths; null: not set. */
  readonly costMicros: number | null;
  readonly standing: Standing;
  /** The share that it delivers, from 0 to 1; null without samples. */
  readonly delivered: number | null;
};

const STANDINGS: readonly Standing[] = ['good', 'trial', 'below'];
/** Salt that is no id of a route, so that exploring is independent of the route that is then tried. */
const EXPLORING = -1;

/**
 * Orders interchangeable routes by a policy: first the cheapest at or above the floor of quality, then the cheapest on
 * trial, then those below, best first. Equal offers keep their order. For a share of the messages a route on trial or
 * below is tried first, to measure its current delivery.
 */
function orderByCost(
  routes: readonly PlannedRoute[],
  {
    policy,
    economics,
    destination,
    traffic,
  }: { policy: Policy; economics: Economics; destination: string; traffic: Traffic },
): { readonly offers: readonly Offer[]; readonly explores: boolean } {
  const country = callingCodeOf(destination.slice(1)) ?? '';
  const offers = routes
    .map((route): Offer => {
      const row = economics.standingOf(policy, route.connectionId, country);
      const costMicros = economics.findCost(route.connectionId, destination, traffic.network);
      return { route, costMicros, standing: row?.standing ?? 'trial', delivered: row ? deliveredShare(row) : null };
    })
    .toSorted(compareOffers);
  const untested = offers.slice(1).filter(({ standing }) => standing !== 'good');
  if (untested.length === 0) return { offers, explores: false };
  const hash = hashOf(traffic.key, traffic.salt);
  if (unitOf(hash, EXPLORING) * 1000 >= policy.explore) return { offers, explores: false };
  const [tried] = shareOut(
    untested.map((offer) => ({ id: offer.route.id, weight: 1, offer })),
    hash,
  );
  if (!tried) return { offers, explores: false };
  return { offers: [tried.offer, ...offers.filter((offer) => offer !== tried.offer)], explores: true };
}

function compareOffers(a: Offer, b: Offer): number {
  const rank = STANDINGS.indexOf(a.standing) - STANDINGS.indexOf(b.standing);
  if (rank !== 0) return rank;
  if (a.standing === 'below' && a.delivered !== b.delivered) return (b.delivered ?? 0) - (a.delivered ?? 0);
  // An unknown price is not a low price.
  if (a.costMicros === b.costMicros) return 0;
  return (a.costMicros ?? Number.POSITIVE_INFINITY) - (b.costMicros ?? Number.POSITIVE_INFINITY);
}

/** Effect of a number's network: on the route of the message, or only on the charge of its carrier. */
export type NetworkUse = 'choice' | 'cost';

/** The sending account and the number, in E.164 with its plus. */
export type Recipient = { readonly accountId: number; readonly destination: string };

type Lists = { readonly economics: Economics; readonly dependsOnNetwork: Costs['dependsOnNetwork'] };

/**
 * Returns the effect of a number's network for an account, from the plan of its longest prefix; null if none: no route
 * that the account may get names a network of the number's country, and the costs of their connections do not depend on
 * it. Senders and hours are ignored. Pure.
 */
export function networkUseOf(
  longest: Plan | undefined,
  { accountId, destination }: Recipient,
  { economics, dependsOnNetwork }: Lists,
): NetworkUse | null {
  const callingCode = callingCodeOf(destination.slice(1));
  const connectionIds = new Set<number>();
  for (let plan = longest ?? null; plan !== null; plan = plan.shorter) {
    const own = plan.routes.filter((route) => route.accountId === null || route.accountId === accountId);
    if (own.some(({ network }) => network !== null && mayBeIn(network, callingCode))) return 'choice';
    for (const { connectionId } of own) connectionIds.add(connectionId);
    // A shorter prefix is tried only where no condition is met.
    if (own.some(({ network, sender, hours, purpose }) => (network ?? sender ?? hours ?? purpose) === null)) break;
  }
  if (![...connectionIds].some((connectionId) => dependsOnNetwork(connectionId, destination))) return null;
  return connectionIds.size > 1 && economics.policyFor('SMS', destination) !== undefined ? 'choice' : 'cost';
}

/** The chosen routes of a message: its connections, and the options of the first of them. */
export type ChosenRoute = {
  /** Best first: the others are for failover. Empty when there is no route. */
  readonly connectionIds: readonly number[];
  /** Action for a single send that never gets a response. */
  readonly onUnknown: OnUnknown;
  /** Reason for this connection, for users of the account; null where that follows from the prefix alone. */
  readonly reason: string | null;
  /** Set if there are routes, but over none of them the sender has the registration that it needs. */
  readonly isUnregistered?: true;
};

export const NO_ROUTE: ChosenRoute = { connectionIds: [], onUnknown: 'hold', reason: null };
const NO_REGISTERED_ROUTE: ChosenRoute = { ...NO_ROUTE, isUnregistered: true };

/** Returns the reason for rejecting a message whose choice has no connection. */
export const faultOf = ({ isUnregistered }: ChosenRoute): 'no_route' | 'no_registered_route' =>
  isUnregistered ? 'no_registered_route' : 'no_route';

/** A route that is ready to be checked for many messages. */
export type PlannedRoute = Route & { readonly checks: readonly Check[] };

export type Plan = {
  readonly prefix: string;
  /** Ordered as they are tried. */
  readonly routes: readonly PlannedRoute[];
  /** The choice for all its messages, if it is the same; null if it depends on the message. */
  readonly chosen: ChosenRoute | null;
  /** The plan of the next shorter prefix, for messages that meet no condition here. */
  readonly shorter: Plan | null;
};

/**
 * Makes the plan of each prefix from routes in the order of `listRoutes`. `isFree` returns true if a policy may order
 * the routes of a prefix. A prefix without one, whose routes have neither conditions nor weights, has a single choice,
 * which is found without checking messages.
 */
export function planRoutes(
  routes: readonly Route[],
  isFree: (channel: string, prefix: string) => boolean,
): PrefixTable<Plan> {
  const rows: { group: string; prefix: string; value: Plan }[] = [];
  for (const [channel, own] of Map.groupBy(routes, (route) => route.channel)) {
    const plans: Plan[] = [];
    const byPrefix = [...Map.groupBy(own, ({ prefix }) => prefix)].toSorted(([a], [b]) => a.length - b.length);
    for (const [prefix, group] of byPrefix) {
      const planned = group.map((route) => ({ ...route, checks: checksOf(route) }));
      const fixed = !isFree(channel, prefix) && planned.every((route) => isPlain(route));
      const shorter = plans.findLast((plan) => prefix.startsWith(plan.prefix)) ?? null;
      plans.push({ prefix, routes: planned, chosen: fixed ? chosenRoute(planned, null) : null, shorter });
    }
    rows.push(...plans.map((plan) => ({ group: channel, prefix: plan.prefix, value: plan })));
  }
  return prefixTable(rows);
}

const isPlain = ({ checks, weight }: PlannedRoute): boolean => checks.length === 0 && weight === null;

/** Returns routes in their order, all of them interchangeable, as a choice. */
function chosenRoute(routes: readonly PlannedRoute[], reason: string | null): ChosenRoute {
  const [best] = routes;
  if (best === undefined) return NO_ROUTE;
  const connectionIds = [...new Set(interchangeable(routes).map(({ connectionId }) => connectionId))];
  return { connectionIds, onUnknown: best.onUnknown, reason };
}

/**
 * Returns the interchangeable routes. Real carriers and the sandbox do not replace each other: a message for a person
 * must not go to the sandbox, which would report it as delivered, and a test must not reach a person. So the best route
 * decides which of them are left.
 */
function interchangeable<R extends Pick<Route, 'sandbox'>>(routes: readonly R[]): readonly R[] {
  const [best] = routes;
  return routes.every(({ sandbox }) => sandbox === best?.sandbox)
    ? routes
    : routes.filter(({ sandbox }) => sandbox === best?.sandbox);
}

/**
 * Returns 32 well-mixed bits of a text and a number. The same input gives the same bits in every process, which keeps a
 * message on its way. FNV-1a, then the finaliser of MurmurHash3.
 */
export function hashOf(text: string, salt: number): number {
  let hash = 0x811c9dc5 ^ salt;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

function mix(bits: number): number {
  let hash = bits;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Returns a number from 0 to below 1 that a hash and a number determine, evenly distributed over hashes. */
export const unitOf = (hash: number, salt: number): number => mix(hash ^ Math.imul(salt, 0x9e3779b1)) / 2 ** 32;

/** Something with a share of the traffic, with an id that stays the same. */
type Sharer = { readonly id: number; readonly weight: number | null };

/**
 * Orders by weight, for the message with this hash: over many messages the first places are divided in proportion to
 * the weights, and so is the traffic that moves to the others where the first one fails. A change of one weight moves
 * no message between two others (weighted rendezvous hashing: each draws a time from an exponential distribution with
 * its weight as the rate).
 */
export function shareOut<T extends Sharer>(sharers: readonly T[], hash: number): T[] {
  if (sharers.length < 2) return [...sharers];
  return sharers
    .map((sharer) => ({ sharer, time: -Math.log(1 - unitOf(hash, sharer.id)) / (sharer.weight ?? 1) }))
    .sort((a, b) => a.time - b.time)
    .map(({ sharer }) => sharer);
}

const UNUSABLE = columns({
  id: as<number>('l.id'),
  name: as<string>('l.name'),
  status: as<'active' | 'paused'>('l.status'),
  /** Time since which no worker has it up; null while it is paused. */
  since: as<Date | null>('max(d.since)'),
  /** True if each of its routes has another connection that is up. */
  covered: as<boolean>('bool_and(EXISTS (SELECT FROM link o WHERE o.way = l.way AND o.usable))'),
});
type UnusableConnection = RowOf<typeof UNUSABLE>;

type Whose = { readonly accountId: number | null; readonly channels?: readonly Channel[] };

/**
 * Lists the connections that messages of an account use on these channels, by its routes or senders, and that take
 * nothing now: they are paused, or no worker has them up. With the account null: of all accounts. Needs the rights of
 * the program, because accounts may not read these tables.
 */
export async function listUnusableConnections(
  db: Db,
  { accountId, channels = CHANNELS }: Whose,
): Promise<UnusableConnection[]> {
  const ofThese = sql`channel = ANY(${[...channels]}::text[])
    AND (${accountId}::bigint IS NULL OR owner_id IS NULL OR owner_id = ${accountId})`;
  return many(
    db,
    sql`WITH used AS (
          SELECT connection_id, channel || '/' || prefix AS way FROM ${ALL_ROUTES} AS r
          WHERE channel = 'SMS' AND ${ofThese}
          UNION
          SELECT connection_id, channel || '/' || identity FROM sender WHERE connection_id IS NOT NULL AND ${ofThese}),
        link AS (
          SELECT u.way, c.id, c.name, c.status, c.status = 'active' AND EXISTS (
            SELECT FROM connection_status s WHERE s.connection_id = c.id AND s.up
              AND s.updated_at > now() - interval '1 minute') AS usable
          FROM used u JOIN connection c ON c.id = u.connection_id)
        SELECT ${UNUSABLE}
        FROM link l LEFT JOIN connection_down d ON d.connection_id = l.id AND l.status = 'active'
        WHERE NOT l.usable
        GROUP BY l.id, l.name, l.status ORDER BY l.name`,
  );
}
