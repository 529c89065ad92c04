import type { FindCost } from '../../costs/cost-list.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import { callingCodeOf } from '../../../platform/lib/phone/phone.ts';
import { type PrefixTable, prefixTable } from '../../../platform/lib/phone/prefix-table.ts';
import type { Policy } from '../policies/sql.ts';
import { keyOf } from '../standings/key.ts';
import type { StandingRow } from '../standings/sql.ts';
import { deliveredShare, type Standing } from '../standings/standing.ts';
import type { Traffic } from '../conditions/conditions.ts';
import type { PlannedRoute } from './plan.ts';
import { hashOf, shareOut, unitOf } from './share.ts';

/** Inputs for ordering routes by cost and quality. */
export type Economics = {
  /** The policy for a number, in E.164 with its plus; undefined where routes go by priority. */
  policyFor(channel: Channel, destination: string): Policy | undefined;
  /** Returns true if a number of a prefix, or a longer one, may have a policy by cost. */
  mayApply(channel: string, prefix: string): boolean;
  readonly findCost: FindCost;
  standingOf(policy: Policy, connectionId: number, country: string): StandingRow | undefined;
};

/** Makes the tables for policies, standings and costs. */
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
export type Offer = {
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
export function orderByCost(
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
