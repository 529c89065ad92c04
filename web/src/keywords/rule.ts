import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';

/** The permission that changes to rules require, in addition to that of the inbox. */
export const NEED: Need = { scope: 'webhooks', write: true };

export const RULES = '/api/partner-gateway/v1/keyword-rules';

type Search = { readonly page: number; readonly limit: number };

export const listRules = ({ page, limit }: Search, signal: AbortSignal) =>
  ok(api.GET(RULES, { params: { query: { page, limit } }, signal }));
export type Rule = Awaited<ReturnType<typeof listRules>>['data'][number];

export const RULE_KEYS = [['keyword-rules']] as const;
