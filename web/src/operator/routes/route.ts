import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';

export const ROUTES = '/api/operator/v1/routes';

type Listed = { readonly page: number; readonly limit: number; readonly connection?: string };
export const listRoutes = (query: Listed, signal: AbortSignal) => ok(api.GET(ROUTES, { params: { query }, signal }));
export type Route = Awaited<ReturnType<typeof listRoutes>>['data'][number];

/** A message whose route is looked up; account and sender may be empty. */
export type Asked = { readonly number: string; readonly account: string; readonly sender: string };

export const explainQuery = ({ number, account, sender }: Asked) =>
  queryOptions({
    queryKey: ['operator', 'routes', 'explain', number, account, sender],
    queryFn: ({ signal }) => {
      const query = { number, ...(account && { accountId: Number(account) }), ...(sender && { sender }) };
      return ok(api.GET(`${ROUTES}/explain`, { params: { query }, signal }));
    },
    enabled: number !== '',
  });
export type Explained = Awaited<ReturnType<NonNullable<ReturnType<typeof explainQuery>['queryFn']>>>;

export const ROUTE_KEYS = [
  ['operator', 'routes'],
  ['operator', 'connections'],
] as const;
