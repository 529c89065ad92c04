import { queryOptions } from '@tanstack/react-query';
import { api, ok } from './client.ts';

const REFRESH_MS = 30_000;

/** The credit and what of it is frozen; what spends refreshes `['credit']`. */
export const creditQuery = queryOptions({
  queryKey: ['credit'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/subscription/credit', { signal })),
  refetchInterval: REFRESH_MS,
});
