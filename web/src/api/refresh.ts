import type { QueryClient, QueryKey } from '@tanstack/react-query';

/**
 * Refetches the visible queries whose keys begin with `queryKey`, after something that they show has changed. Resolves
 * when they are up to date; never rejects.
 *
 * A query that loads for the first time is fetched again afterwards: `invalidateQueries` only waits for a first load,
 * which may have read its data before the change.
 */
export async function refresh(queries: QueryClient, queryKey: QueryKey): Promise<void> {
  const loading = queries
    .getQueryCache()
    .findAll({ queryKey, type: 'active', fetchStatus: 'fetching' })
    .filter(({ state }) => state.data === undefined);
  await queries.invalidateQueries({ queryKey });
  if (loading.length > 0) await queries.invalidateQueries({ queryKey, predicate: (query) => loading.includes(query) });
}
