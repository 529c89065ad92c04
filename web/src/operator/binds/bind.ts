import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import { REFRESH_MS } from '../shared/need.ts';

const SMPP = '/api/operator/v1/smpp';

type Listed = { readonly page: number; readonly limit: number };
export const listBinds = (query: Listed, signal: AbortSignal) =>
  ok(api.GET(`${SMPP}/binds`, { params: { query }, signal }));
export type Bind = Awaited<ReturnType<typeof listBinds>>['data'][number];

const findDeliveries = (signal: AbortSignal) => ok(api.GET(`${SMPP}/deliveries`, { signal }));
export const deliveriesQuery = queryOptions({
  queryKey: ['operator', 'smpp', 'deliveries'],
  queryFn: ({ signal }) => findDeliveries(signal),
  refetchInterval: REFRESH_MS,
});
