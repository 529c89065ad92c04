import type { Pool } from 'pg';
import { callingCodeOf } from '../../platform/lib/phone/phone.ts';
import { createCostList } from '../costs/cost-list.ts';
import type { ExplainedRoute, Explanation, Question } from './explain.ts';
import { createRouter } from './router.ts';
import type { Policy } from './policies/sql.ts';
import { listQualityIn, listStandings } from './standings/sql.ts';
import type { Quality } from './standings/standing.ts';

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
  const router = createRouter(pool, costs.find);
  await Promise.all([costs.reload(), router.reload()]);
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
