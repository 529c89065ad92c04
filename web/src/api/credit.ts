import { queryOptions } from '@tanstack/react-query';
import { api, ok } from './client.ts';

const REFRESH_MS = 30_000;

/** The account's available and reserved credit. Actions that spend credit refetch `['credit']`. */
export const creditQuery = queryOptions({
  queryKey: ['credit'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/subscription/credit', { signal })),
  refetchInterval: REFRESH_MS,
});
