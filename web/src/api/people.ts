import { queryOptions } from '@tanstack/react-query';
import { api, ok } from './client.ts';

const MOST = 1000;

/** The people of the account, for filters and names; needs the scope `keys`. */
export const peopleQuery = queryOptions({
  queryKey: ['users', 'all'],
  queryFn: async ({ signal }) =>
    (await ok(api.GET('/api/partner-gateway/v1/users', { params: { query: { limit: MOST } }, signal }))).data,
  staleTime: 60_000,
});
