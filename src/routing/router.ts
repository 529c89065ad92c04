import type { Pool } from 'pg';
import { type Channel, isRoutedBySender, type Purpose } from '../core/channels.ts';
import { callingCodeOf, type PrefixTable, prefixTable } from '../core/phone.ts';
import {
  type Asked,
  type ChosenRoute,
  choose,
  chooseRoute,
  economicsOf,
  type NetworkUse,
  NO_ROUTE,
  networkUseOf,
  type Plan,
  type PlannedRoute,
  planRoutes,
  type Recipient,
  reasonOf,
} from './choice.ts';
import { type Costs, createCostList, NO_COSTS } from './costs.ts';
import { listPolicies, type Policy } from './policies.ts';
import { type ConditionName, listRoutes, type Route, type Traffic } from './routes.ts';
import { createSenderRules, NO_SENDER_RULES, registeredOver, type SenderRules } from './sender-rules.ts';
import { listRegisteredSenders } from './senders.ts';
import { listQualityIn, listStandings, type Quality, type Standing } from './standings.ts';

/**
 * Returns the routes of a message to a number on a channel; no connections when there is no route. `destination` is E.164
 * with its plus. On channels that are routed by sender, the sender determines the connection, and there is at most one.
 */
export type FindRoute = (channel: Channel, destination: string, traffic: Traffic) => ChosenRoute;

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
 * and reloaded after each change. `findCost` and `dependsOnNetwork` are from a list of costs, and `senderRules` from rules,
 * that are reloaded with it.
 */
export function createRouter(
  pool: Pool,
  findCost: Costs['find'] = NO_COSTS.find,
  dependsOnNetwork: Costs['dependsOnNetwork'] = NO_COSTS.dependsOnNetwork,
  senderRules: SenderRules = NO_SENDER_RULES,
): Router {
  let economics = economicsOf([], [], findCost);
  let plans: PrefixTable<Plan> = prefixTable([]);
  let senders: ReadonlyMap<string, SenderRoute> = new Map();
  return {
    find: (channel, destination, traffic) =>
      isRoutedBySender(channel)
        ? (senders.get(keyOf(channel, traffic.sender))?.chosen ?? NO_ROUTE)
        : chooseRoute(plans.find(channel, destination), {
            channel,
            destination,
            traffic,
            economics,
            isRegistered: senderRules.usesRegistrations()
              ? registeredOver(senderRules, { ...traffic, destination })
              : null,
          }),
    maySend(accountId, channel, sender) {
      if (!isRoutedBySender(channel)) return true;
      const ownerId = senders.get(keyOf(channel, sender))?.ownerId;
      return ownerId === null || ownerId === accountId;
    },
    explain({ destination, accountId, sender, network, purpose = null, at }) {
      const traffic = {
        accountId: accountId ?? 0,
        sender: sender ?? '',
        network,
        purpose,
        at,
        key: destination,
        salt: 0,
      };
      const isRegistered = registeredOver(senderRules, { ...traffic, destination });
      return explain(plans.find('SMS', destination), { channel: 'SMS', destination, economics, traffic, isRegistered });
    },
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

type SenderRoute = { readonly chosen: ChosenRoute; readonly ownerId: number | null };

const keyOf = (channel: Channel, identity: string): string => `${channel}/${identity}`;

const routeOf = ({ connectionId, ownerId }: { connectionId: number; ownerId: number | null }): SenderRoute => ({
  chosen: { ...NO_ROUTE, connectionIds: [connectionId] },
  ownerId,
});

/** Reason why a route is not used for a message. */
type Obstacle =
  | ConditionName
  /** The sender lacks the registration over its connection that the rule of the country requires. */
  | 'registration'
  /** Another prefix decides: a longer one with a route whose conditions are met. */
  | 'prefix'
  /** The route leads to the sandbox and the best route to a real carrier, or vice versa. */
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
type Explanation = {
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
type Question = {
  /** E.164 with its plus. */
  readonly destination: string;
  readonly accountId: number | null;
  readonly sender: string | null;
  readonly network: string | null;
  readonly purpose?: Purpose | null;
  /** Time at which it would be sent; null: now. */
  readonly at: Date | null;
};

/** Explains the routes of a message by the steps that choose it, from the plan of its longest prefix. Pure. */
function explain(plan: Plan | undefined, asked: Asked): Explanation {
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

function obstaclesOf({ checks, connectionId }: PlannedRoute, isElsewhere: boolean, asked: Asked): Obstacle[] {
  const unmet: Obstacle[] = checks.filter((check) => !check.isMet(asked.traffic)).map(({ name }) => name);
  if (asked.isRegistered?.(connectionId) === false) unmet.push('registration');
  if (unmet.length > 0) return unmet;
  return [isElsewhere ? 'prefix' : 'sandbox'];
}

/** Returns the plan and those of the shorter prefixes, longest first. */
function plansFrom(plan: Plan): Plan[] {
  return plan.shorter === null ? [plan] : [plan, ...plansFrom(plan.shorter)];
}

/** A route with the quality of its connection in the country of the number; null without samples. */
export type MeasuredRoute = ExplainedRoute & { readonly quality: Quality | null };
export type MeasuredExplanation = Omit<Explanation, 'routes'> & { readonly routes: readonly MeasuredRoute[] };

/** Hours of samples shown where no policy judges by them. */
const SHOWN_HOURS = 3;

/**
 * Explains how a message on SMS would be routed, from the stored data, with the known quality of each connection: under
 * a policy by cost the figures that determine its standing, otherwise those of the last hours.
 */
export async function explainRoute(pool: Pool, question: Question): Promise<MeasuredExplanation> {
  const costs = createCostList(pool);
  const senderRules = createSenderRules(pool);
  const router = createRouter(pool, costs.find, costs.dependsOnNetwork, senderRules);
  await Promise.all([costs.reload(), senderRules.reload(), router.reload()]);
  const explanation = router.explain(question);
  const qualityOf = await findQuality(pool, callingCodeOf(question.destination.slice(1)) ?? '', explanation.policy);
  const routes = explanation.routes.map((route) => ({ ...route, quality: qualityOf.get(route.connectionId) ?? null }));
  return { ...explanation, routes };
}

async function findQuality(pool: Pool, country: string, policy: Policy | null): Promise<ReadonlyMap<number, Quality>> {
  const rows = policy
    ? (await listStandings(pool)).filter((row) => row.policyId === policy.id && row.country === country)
    : await listQualityIn(pool, { country, hours: SHOWN_HOURS });
  return new Map(
    rows.map(({ connectionId, messages, delivered, receiptMs }) => [connectionId, { messages, delivered, receiptMs }]),
  );
}
