import { type QueryClient, queryOptions, useQueryClient } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';
import type { ListPage } from '../ui/table/data-table.tsx';
import type { Query } from './search.ts';

/** The permission that changes to contacts and lists require. */
export const NEED: Need = { scope: 'contacts', write: true };

export const CONTACTS = '/api/partner-gateway/v1/contacts';

export const CHANNELS = ['SMS', 'WHATSAPP', 'RCS'] as const;

export const listContacts = (query: Query & { page: number; limit: number }, signal?: AbortSignal) =>
  ok(api.GET(CONTACTS, { params: { query }, signal }));

export type Contact = Awaited<ReturnType<typeof listContacts>>['data'][number];
export type CustomValue = Contact['customFields'][string];

export const contactQuery = (id: number) =>
  queryOptions({
    queryKey: ['contacts', 'one', id],
    queryFn: ({ signal }) => ok(api.GET(`${CONTACTS}/{id}`, { params: { path: { id } }, signal })),
  });

export type ContactPatch = Partial<Omit<Contact, 'customFields'>> & {
  readonly customFields?: Record<string, CustomValue | null>;
};

/** Returns a function that changes fields of a contact and updates the contact in all cached data. */
export function useSaveContact() {
  const queries = useQueryClient();
  return async (id: number, body: ContactPatch): Promise<Contact> => {
    const changed = await ok(api.PUT(`${CONTACTS}/{id}`, { params: { path: { id } }, body }));
    updateCachedContact(queries, changed);
    return changed;
  };
}

function updateCachedContact(queries: QueryClient, changed: Contact): void {
  queries.setQueryData(contactQuery(changed.id).queryKey, changed);
  queries.setQueriesData<ListPage<Contact>>(
    { queryKey: ['contacts', 'list'] },
    (page) => page && { ...page, data: page.data.map((row) => (row.id === changed.id ? changed : row)) },
  );
}

/** Lists the custom fields of the account (100 at most). */
const listFields = (signal: AbortSignal) => ok(api.GET(`${CONTACTS}/fields`, { signal }));
export type CustomField = Awaited<ReturnType<typeof listFields>>[number];

export const fieldsQuery = queryOptions({
  queryKey: ['contact-fields'],
  queryFn: ({ signal }) => listFields(signal),
  staleTime: 30_000,
});

const MAX_LISTS = 1000;

/** The contact lists for selects, by name. */
export const listsQuery = queryOptions({
  queryKey: ['lists', 'all'],
  queryFn: ({ signal }) =>
    ok(api.GET(`${CONTACTS}/list`, { params: { query: { page: 0, limit: MAX_LISTS } }, signal })),
  staleTime: 10_000,
});

/** The number of contacts and the plan's limit. */
export const limitsQuery = queryOptions({
  queryKey: ['contacts', 'limits'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/subscription/contacts', { signal })),
});
