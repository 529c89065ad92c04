import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';

/** The kinds of connections with their settings: they change only with a new version of the server. */
export const kindsQuery = queryOptions({
  queryKey: ['operator', 'connection-kinds'],
  queryFn: ({ signal }) => ok(api.GET('/api/operator/v1/connection-kinds', { signal })),
  staleTime: Number.POSITIVE_INFINITY,
});

/** A kind of connections: the fields of its form, and the routing of its messages. */
export type Kind = Awaited<ReturnType<NonNullable<typeof kindsQuery.queryFn>>>['data'][number];
export type KindName = Kind['kind'];

/** Returns the kind of a connection; undefined until the kinds are loaded. */
export function useKind({ kind: name }: { readonly kind: KindName }): Kind | undefined {
  return useQuery(kindsQuery).data?.data.find(({ kind }) => kind === name);
}
