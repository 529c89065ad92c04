import type { Channel } from '../../../platform/lib/channel.ts';
import { describeConditions, type Traffic } from '../conditions/conditions.ts';
import { type Economics, type Offer, orderByCost } from './economics.ts';
import { interchangeable, NO_WAY, type Plan, type PlannedRoute, type Way, wayOf } from './plan.ts';
import { hashOf, shareOut } from './share.ts';

/** The routes that a message may take, best first, and their prefix. */
export type Choice = {
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
};

/**
 * Finds the routes of a message: those of the longest prefix with any route whose conditions are met, without the
 * sandbox if the best is a real carrier, and vice versa. Null when there is none.
 */
export function choose(longest: Plan, asked: Asked): Choice | null {
  const { channel, destination, traffic, economics } = asked;
  for (let plan: Plan | null = longest; plan !== null; plan = plan.shorter) {
    const met = plan.routes.filter(({ checks }) => checks.every((check) => check.isMet(traffic)));
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

/** Finds the way of a message. Where neither conditions, weights nor a policy decide, it is precomputed. */
export function findWay(plan: Plan | undefined, asked: Asked): Way {
  if (plan === undefined) return NO_WAY;
  if (plan.way !== null) return plan.way;
  const choice = choose(plan, asked);
  return choice === null ? NO_WAY : (choice.plan.way ?? wayOf(choice.ranked, reasonOf(choice)));
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
