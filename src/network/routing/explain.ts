import { type Asked, choose, reasonOf } from './choice/choose.ts';
import type { ConditionName } from './conditions/conditions.ts';
import type { Plan, PlannedRoute } from './choice/plan.ts';
import type { Policy } from './policies/sql.ts';
import type { Route } from './sql.ts';
import type { Standing } from './standings/standing.ts';

/** Reason why a route is not used for a message. */
export type Obstacle =
  | ConditionName
  /** Another prefix decides: a longer one with a route whose conditions are met. */
  | 'prefix'
  /** It leads to the sandbox and the best route to a real carrier, or vice versa. */
  | 'sandbox';

/** A route whose prefix matches the number, with its result. */
export type ExplainedRoute = Omit<Route, 'order'> & {
  /** The place in which it is tried, from 1; null: it is not used. */
  readonly place: number | null;
  /** Reasons why it is not used; empty for those that are. */
  readonly obstacles: readonly Obstacle[];
  /** Charge of the carrier, in millionths; null: not set. */
  readonly costMicros: number | null;
  /** Standing by the policy; null where no policy orders it. */
  readonly standing: Standing | null;
};

/** Explanation of how a message would be routed now. */
export type Explanation = {
  /** The prefix that decides; null: the message has no route. */
  readonly prefix: string | null;
  /** The policy that orders the routes; null: they go by priority. */
  readonly policy: Policy | null;
  /** Every route whose prefix matches the number: first those that are used, in the order in which they are tried. */
  readonly routes: readonly ExplainedRoute[];
  /** Reason for the first one, in words; null when there is none. */
  readonly reason: string | null;
};

/** A message that is not sent. */
export type Question = {
  /** E.164 with its plus. */
  readonly destination: string;
  readonly accountId: number | null;
  readonly sender: string | null;
  readonly network: string | null;
  /** Time at which it would be sent; null: now. */
  readonly at: Date | null;
};

/** Explains the way of a message by the steps that choose it, from the plan of its longest prefix. Pure. */
export function explain(plan: Plan | undefined, asked: Asked): Explanation {
  const policy = asked.economics.policyFor(asked.channel, asked.destination) ?? null;
  if (plan === undefined) return { prefix: null, policy, routes: [], reason: null };
  const choice = choose(plan, asked);
  const used = choice?.ranked ?? [];
  const standingOf = new Map(choice?.byCost?.offers.map(({ route, standing }) => [route, standing]));
  const show = (route: PlannedRoute, place: number | null, obstacles: readonly Obstacle[]): ExplainedRoute => {
    const { checks: _checks, order: _order, ...facts } = route;
    const costMicros = asked.economics.findCost(route.connectionId, asked.destination, asked.traffic.network);
    return { ...facts, place, obstacles, costMicros, standing: standingOf.get(route) ?? null };
  };
  const unused = plansFrom(plan).flatMap((each) =>
    each.routes
      .filter((route) => !used.includes(route))
      .map((route) => show(route, null, obstaclesOf(route, each !== choice?.plan, asked))),
  );
  return {
    prefix: choice?.plan.prefix ?? null,
    policy,
    routes: [...used.map((route, i) => show(route, i + 1, [])), ...unused],
    reason: choice && reasonOf(choice),
  };
}

function obstaclesOf({ checks }: PlannedRoute, isElsewhere: boolean, { traffic }: Asked): Obstacle[] {
  const unmet = checks.filter((check) => !check.isMet(traffic)).map(({ name }) => name);
  if (unmet.length > 0) return unmet;
  return [isElsewhere ? 'prefix' : 'sandbox'];
}

/** Returns the plan and those of the shorter prefixes, longest first. */
function plansFrom(plan: Plan): Plan[] {
  return plan.shorter === null ? [plan] : [plan, ...plansFrom(plan.shorter)];
}
