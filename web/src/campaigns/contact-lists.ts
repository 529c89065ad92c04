import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';

type ListQuery = { readonly search?: string; readonly id?: string; readonly isTest?: boolean; readonly limit: number };

const listLists = (query: ListQuery, signal: AbortSignal) =>
  ok(api.GET('/api/partner-gateway/v1/contacts/list', { params: { query }, signal }));

export type ContactList = Awaited<ReturnType<typeof listLists>>['data'][number];

/** The contact lists that match a query. */
export const useLists = (query: ListQuery, enabled = true) =>
  useQuery({
    queryKey: ['lists', 'to-choose', query],
    queryFn: ({ signal }) => listLists(query, signal),
    placeholderData: keepPreviousData,
    enabled,
  });
