import type { OnUnknown } from '../../dispatch/sql.ts';
import { type PrefixTable, prefixTable } from '../../../platform/lib/phone/prefix-table.ts';
import type { Route } from '../sql.ts';
import { type Check, checksOf } from '../conditions/conditions.ts';

/** The way of a message: its connections, and the options of the first of them. */
export type Way = {
  /** Best first: the others are for failover. Empty when there is no route. */
  readonly connectionIds: readonly number[];
  /** Action for a single send that is never answered. */
  readonly onUnknown: OnUnknown;
  /** Reason for this connection, for users of the account; null where that follows from the prefix alone. */
  readonly reason: string | null;
};

export const NO_WAY: Way = { connectionIds: [], onUnknown: 'hold', reason: null };

/** A route that is ready to be checked for many messages. */
export type PlannedRoute = Route & { readonly checks: readonly Check[] };

/** The routes of a prefix. */
export type Plan = {
  readonly prefix: string;
  /** Ordered as they are tried. */
  readonly routes: readonly PlannedRoute[];
  /** The way of all its messages, if it is the same; null if it depends on the message. */
  readonly way: Way | null;
  /** The plan of the next shorter prefix, for messages that meet no condition here. */
  readonly shorter: Plan | null;
};

/**
 * Makes the plan of each prefix from routes in the order of `listRoutes`. `isFree` returns true if a policy may order
 * the routes of a prefix. A prefix without one, whose routes have neither conditions nor weights, has a single way,
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
      plans.push({ prefix, routes: planned, way: fixed ? wayOf(planned, null) : null, shorter });
    }
    rows.push(...plans.map((plan) => ({ group: channel, prefix: plan.prefix, value: plan })));
  }
  return prefixTable(rows);
}

const isPlain = ({ checks, weight }: PlannedRoute): boolean => checks.length === 0 && weight === null;

/** Returns the way over routes in their order, all of them interchangeable. */
export function wayOf(routes: readonly PlannedRoute[], reason: string | null): Way {
  const [best] = routes;
  if (best === undefined) return NO_WAY;
  const connectionIds = [...new Set(interchangeable(routes).map(({ connectionId }) => connectionId))];
  return { connectionIds, onUnknown: best.onUnknown, reason };
}

/**
 * Returns the interchangeable routes. Real carriers and the sandbox do not replace each other: a message for a person
 * must not go to the sandbox, which would report it as delivered, and a test must not reach a person. So the best route
 * decides which of them are left.
 */
export function interchangeable<R extends Pick<Route, 'sandbox'>>(routes: readonly R[]): readonly R[] {
  const [best] = routes;
  return routes.every(({ sandbox }) => sandbox === best?.sandbox)
    ? routes
    : routes.filter(({ sandbox }) => sandbox === best?.sandbox);
}
