import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';

export const INVITATIONS = '/api/partner-gateway/v1/invitations';

/** All open invitations: an account has at most 200. */
export const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: async ({ signal }) => {
    const query = { page: 0, limit: 200 };
    return (await ok(api.GET(INVITATIONS, { params: { query }, signal }))).data;
  },
});

/** An invitation that was not accepted yet. */
export type Invitation = Awaited<ReturnType<NonNullable<typeof invitationsQuery.queryFn>>>[number];
