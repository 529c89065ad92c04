import { queryOptions } from '@tanstack/react-query';
import { api, ok } from './client.ts';

const PATH = '/api/partner-gateway/v1/inbox/conversations';

/** The number of conversations with unread messages. */
export const unreadQuery = queryOptions({
  queryKey: ['inbox', 'unread'],
  queryFn: async ({ signal }) =>
    (await ok(api.GET(PATH, { params: { query: { unreadOnly: true, limit: 1 } }, signal }))).total,
});
