import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/send.ts';

export const POLICIES = '/api/operator/v1/route-policies';

export const policiesQuery = queryOptions({
  queryKey: ['operator', 'route-policies'],
  queryFn: ({ signal }) => ok(api.GET(POLICIES, { signal })),
});
export type Policy = Awaited<ReturnType<NonNullable<typeof policiesQuery.queryFn>>>['data'][number];

export const POLICY_KEYS = [
  ['operator', 'route-policies'],
  ['operator', 'routes'],
] as const;
