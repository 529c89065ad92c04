import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { api, ok } from './client.ts';
import { useSession } from './session.ts';

const REFRESH_MS = 30_000;

const creditQuery = queryOptions({
  queryKey: ['credit'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/subscription/credit', { signal })),
  refetchInterval: REFRESH_MS,
});

/** Shows the available credit from another response wherever it is displayed, so that no two figures differ. */
export const updateCredit = (client: QueryClient, availableCredit: number): unknown =>
  client.setQueryData(creditQuery.queryKey, (known) => known && { ...known, availableCredit });

/**
 * The account's available and reserved credit; undefined for users who may not see amounts. Actions that spend credit
 * refetch `['credit']`.
 */
export function useCredit() {
  const { may } = useSession();
  return useQuery({ ...creditQuery, enabled: may({ scope: 'money' }) });
}
