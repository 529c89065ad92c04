import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';

export const ROUTES = '/api/operator/v1/routes';

type Listed = { readonly page: number; readonly limit: number; readonly connection?: string };
export const listRoutes = (query: Listed, signal: AbortSignal) => ok(api.GET(ROUTES, { params: { query }, signal }));
export type Route = Awaited<ReturnType<typeof listRoutes>>['data'][number];

export const checkQuery = (number: string) =>
  queryOptions({
    queryKey: ['operator', 'routes', 'check', number],
    queryFn: ({ signal }) => ok(api.GET(`${ROUTES}/check`, { params: { query: { number } }, signal })),
    enabled: number !== '',
  });

export const ROUTE_KEYS = [
  ['operator', 'routes'],
  ['operator', 'connections'],
] as const;
