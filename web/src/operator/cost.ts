import { api, ok } from '../api/send.ts';

export const COSTS = '/api/operator/v1/costs';

type Listed = {
  readonly page: number;
  readonly limit: number;
  readonly connection?: string;
  readonly prefix?: string;
};
export const listCosts = (query: Listed, signal: AbortSignal) => ok(api.GET(COSTS, { params: { query }, signal }));
export type Cost = Awaited<ReturnType<typeof listCosts>>['data'][number];

export const COST_KEYS = [['operator', 'costs']] as const;
