import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';
import { choice, listFields, text, type useUrlState } from '../ui/url-state.ts';

/** The permission that changes to lists require. */
export const NEED: Need = { scope: 'contacts', write: true };

export const LISTS = '/api/partner-gateway/v1/contacts/list';

/** The filters and the order in the URL. */
export const FIELDS = {
  ...listFields('name'),
  q: text(),
  kind: choice(['test', 'live']),
  deleted: choice(['yes']),
};
export type Search = ReturnType<typeof useUrlState<typeof FIELDS>>[0];

const ORDERS = ['name', 'contactCount', 'createdAt'] as const;

export const listLists = ({ page, limit, sort, q, kind, deleted }: Search, signal: AbortSignal) =>
  ok(
    api.GET(LISTS, {
      params: {
        query: {
          page,
          limit,
          search: q.trim() || undefined,
          isTest: kind === '' ? undefined : kind === 'test',
          includeDeleted: deleted === 'yes',
          sortBy: ORDERS.find((order) => order === sort.replace(/^-/, '')) ?? 'name',
          sortOrder: sort.startsWith('-') ? 'desc' : 'asc',
        },
      },
      signal,
    }),
  );

export type List = Awaited<ReturnType<typeof listLists>>['data'][number];
