import { useQuery } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';
import { useSession } from '../api/session.ts';

/** The contact's data; undefined while it is loading, or if the user may not see contacts. */
export function useContact(id: number | null) {
  const may = useSession().may({ scope: 'contacts' });
  const { data } = useQuery({
    queryKey: ['contacts', 'of-inbox', id],
    queryFn: ({ signal }) =>
      ok(api.GET('/api/partner-gateway/v1/contacts/{id}', { params: { path: { id: id ?? 0 } }, signal })),
    enabled: may && id !== null,
  });
  return data;
}
