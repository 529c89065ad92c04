import { keepPreviousData, type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query';
import type { ListPage } from './data-table.tsx';

/** The query for a `DataTable`. The previous rows stay while another page or filter is loading. */
export const useListQuery = <Row>(
  queryKey: QueryKey,
  fetchPage: (signal: AbortSignal) => Promise<ListPage<Row>>,
  options: Pick<UseQueryOptions<ListPage<Row>>, 'refetchInterval' | 'enabled'> = {},
) =>
  useQuery({
    queryKey,
    queryFn: ({ signal }) => fetchPage(signal),
    placeholderData: keepPreviousData<ListPage<Row>>,
    ...options,
  });
