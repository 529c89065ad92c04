import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';
import { type Language, toLanguage } from '../api/languages.ts';

/** Alerts are the operators', whatever their role in the account that they look at. */
export const OPERATOR: Need = { operator: true, write: false };
const REFRESH_MS = 5_000;

export const ALERTS = '/api/operator/v1/alerts';
export const RULES = '/api/operator/v1/alert-rules';
export const TARGETS = '/api/operator/v1/alert-targets';

type Listed = { readonly state: 'open' | 'resolved'; readonly page: number; readonly limit: number };
const listAlerts = (query: Listed & { readonly language: Language }, signal: AbortSignal) =>
  ok(api.GET(ALERTS, { params: { query }, signal }));
export type Alert = Awaited<ReturnType<typeof listAlerts>>['data'][number];

/** A page of the alerts; `language` is that of their titles. */
export const alertsQuery = ({ language, ...listed }: Listed & { readonly language: string }) =>
  queryOptions({
    queryKey: ['alerts', 'list', listed, language],
    queryFn: ({ signal }) => listAlerts({ ...listed, language: toLanguage(language) }, signal),
    refetchInterval: REFRESH_MS,
    placeholderData: (before) => before,
  });

export const rulesQuery = queryOptions({
  queryKey: ['alerts', 'rules'],
  queryFn: ({ signal }) => ok(api.GET(RULES, { signal })),
});
export type Rule = Awaited<ReturnType<NonNullable<typeof rulesQuery.queryFn>>>['data'][number];

export const targetsQuery = queryOptions({
  queryKey: ['alerts', 'targets'],
  queryFn: ({ signal }) => ok(api.GET(TARGETS, { signal })),
  refetchInterval: REFRESH_MS * 2,
});
export type Target = Awaited<ReturnType<NonNullable<typeof targetsQuery.queryFn>>>['data'][number];
export const KEYS = [['alerts']] as const;
