import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/send.ts';

export const LOOKUPS = '/api/operator/v1/lookups';

export const lookupsQuery = queryOptions({
  queryKey: ['operator', 'lookups'],
  queryFn: ({ signal }) => ok(api.GET(LOOKUPS, { signal })),
});
export type Lookup = Awaited<ReturnType<NonNullable<typeof lookupsQuery.queryFn>>>['data'][number];

export const LOOKUP_KEYS = [['operator', 'lookups']] as const;
