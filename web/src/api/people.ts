import { queryOptions } from '@tanstack/react-query';
import { api, ok } from './client.ts';

const MAX_PEOPLE = 1000;

/** The users of the account, for filters and names; requires the scope `keys`. */
export const peopleQuery = queryOptions({
  queryKey: ['users', 'all'],
  queryFn: async ({ signal }) =>
    (await ok(api.GET('/api/partner-gateway/v1/users', { params: { query: { limit: MAX_PEOPLE } }, signal }))).data,
  staleTime: 60_000,
});
