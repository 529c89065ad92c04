import type { Pool } from 'pg';
import { callingCodeOf } from '../../platform/lib/phone/phone.ts';
import { createCostList } from '../costs/cost-list.ts';
import type { ExplainedRoute, Explanation, Question } from './explain.ts';
import { createRouter } from './router.ts';
import { type CountryQuality, listQualityIn } from './standings/sql.ts';

/** What samples tell about the connection of a route in the country of the number; null without any. */
export type MeasuredRoute = ExplainedRoute & { readonly quality: Omit<CountryQuality, 'connectionId'> | null };
export type MeasuredExplanation = Omit<Explanation, 'routes'> & { readonly routes: readonly MeasuredRoute[] };

/** How many hours of samples are shown where no policy says how many count. */
const SHOWN_HOURS = 3;

/** Explains how a message on SMS would be routed, from what is stored now, and what is known of each connection. */
export async function explainRoute(pool: Pool, question: Question): Promise<MeasuredExplanation> {
  const costs = createCostList(pool);
  const router = createRouter(pool, costs.find);
  await Promise.all([costs.reload(), router.reload()]);
  const explanation = router.explain(question);
  const country = callingCodeOf(question.destination.slice(1)) ?? '';
  const rows = await listQualityIn(pool, { country, hours: explanation.policy?.hours ?? SHOWN_HOURS });
  const qualityOf = new Map(rows.map(({ connectionId, ...quality }) => [connectionId, quality]));
  const routes = explanation.routes.map((route) => ({ ...route, quality: qualityOf.get(route.connectionId) ?? null }));
  return { ...explanation, routes };
}
