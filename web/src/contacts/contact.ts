import { type QueryClient, queryOptions, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok, type Paths } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import type { ListPage } from '../ui/data-table.tsx';
import { choice, text, type useUrlState } from '../ui/url-state.ts';

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

export type ContactPatch = NonNullable<Paths[typeof CONTACTS]['post']['requestBody']>['content']['application/json'];

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

/** The number of contacts and the plan's limit. */
export const limitsQuery = queryOptions({
  queryKey: ['contacts', 'limits'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/subscription/contacts', { signal })),
});

export type Query = Omit<
  NonNullable<Paths['/api/partner-gateway/v1/contacts']['get']['parameters']['query']>,
  'page' | 'limit'
>;

/** The fields that the server can sort by. */
const ORDERS = ['fullName', 'phoneNumber', 'email', 'createdAt', 'updatedAt'] as const;

/** The filters and the order in the URL. */
export const FIELDS = {
  sort: text('fullName'),
  q: text(),
  list: text(),
  reach: choice(['SMS', 'WHATSAPP', 'RCS']),
  optedOut: choice(['any', 'SMS', 'WHATSAPP', 'RCS']),
  valid: choice(['yes', 'no']),
  kind: choice(['test', 'live']),
  from: text(),
  to: text(),
};

export type Search = ReturnType<typeof useUrlState<typeof FIELDS>>[0];
export type SetSearch = ReturnType<typeof useUrlState<typeof FIELDS>>[1];

/** Clears all filters and keeps the order. */
export const NO_FILTERS = { q: '', list: '', reach: '', optedOut: '', valid: '', kind: '', from: '', to: '' } as const;

export const isFiltered = (search: Search): boolean =>
  Object.entries(search).some(([name, value]) => name in NO_FILTERS && value !== '');

const EVERY_CHANNEL = 'SMS,WHATSAPP,RCS';

/** The query for the server. `listId` is the list whose page this is. */
export function toQuery(search: Search, listId?: number): Query {
  const { q, list, reach, optedOut, valid, kind, from, to } = search;
  return {
    ...orderOf(search.sort),
    search: q.trim() || undefined,
    listIds: listId === undefined ? ids(list) : String(listId),
    communicationSupported: reach || undefined,
    optedOut: optedOut === 'any' ? EVERY_CHANNEL : optedOut || undefined,
    isValid: valid === '' ? undefined : valid === 'yes',
    isTest: kind === '' ? undefined : kind === 'test',
    createdFrom: startOf(from, 0),
    createdTo: startOf(to, 1),
  };
}

function orderOf(sort: string): Pick<Query, 'sortBy' | 'sortOrder'> {
  const sortBy = ORDERS.find((order) => order === sort.replace(/^-/, '')) ?? 'fullName';
  return { sortBy, sortOrder: sort.startsWith('-') ? 'desc' : 'asc' };
}

const ids = (list: string): string | undefined => (/^\d{1,15}$/.test(list) ? list : undefined);

/** The start of a day, or of a later one, in the user's time zone; undefined for invalid dates. */
function startOf(day: string, daysLater: number): string | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return undefined;
  const start = new Date(`${day}T00:00:00`);
  if (Number.isNaN(start.getTime())) return undefined;
  start.setDate(start.getDate() + daysLater);
  return start.toISOString();
}

/** Returns options for the channels, each labelled with the text of the given key. */
export function useNamedChannels() {
  const { t } = useTranslation('contacts');
  return (key: string) => CHANNELS.map((value) => ({ value, label: t(key, { channel: t(`ui:channel.${value}`) }) }));
}
