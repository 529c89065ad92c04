import { type QueryClient, queryOptions, useQueryClient } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';
import type { ListPage } from '../ui/table/data-table.tsx';
import type { Query } from './search.ts';

/** What one needs to change contacts and lists. */
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

/** Changes what is named of a contact, and shows it wherever the contact stands, at its place. */
export function useSaveContact() {
  const queries = useQueryClient();
  return async (id: number, body: ContactPatch): Promise<Contact> => {
    const changed = await ok(api.PUT(`${CONTACTS}/{id}`, { params: { path: { id } }, body }));
    keepContact(queries, changed);
    return changed;
  };
}

function keepContact(queries: QueryClient, changed: Contact): void {
  queries.setQueryData(contactQuery(changed.id).queryKey, changed);
  queries.setQueriesData<ListPage<Contact>>(
    { queryKey: ['contacts', 'list'] },
    (page) => page && { ...page, data: page.data.map((row) => (row.id === changed.id ? changed : row)) },
  );
}

/** The custom fields of the account, at most 100. */
const listFields = (signal: AbortSignal) => ok(api.GET(`${CONTACTS}/fields`, { signal }));
export type CustomField = Awaited<ReturnType<typeof listFields>>[number];

export const fieldsQuery = queryOptions({
  queryKey: ['contact-fields'],
  queryFn: ({ signal }) => listFields(signal),
  staleTime: 30_000,
});

const MOST_LISTS = 1000;

/** The lists to choose from, by name. */
export const listsQuery = queryOptions({
  queryKey: ['lists', 'all'],
  queryFn: ({ signal }) =>
    ok(api.GET(`${CONTACTS}/list`, { params: { query: { page: 0, limit: MOST_LISTS } }, signal })),
  staleTime: 10_000,
});

/** How many contacts there are and may be. */
export const limitsQuery = queryOptions({
  queryKey: ['contacts', 'limits'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/subscription/contacts', { signal })),
});
