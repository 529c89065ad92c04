import { api, ok, type Schemas } from '../api/client.ts';
import type { Need } from '../api/session.ts';
import type { Query } from './search.ts';

/** What one needs to change contacts and lists. */
export const NEED: Need = { scope: 'contacts', write: true };

export const PG = '/api/partner-gateway/v1';
export const CONTACTS = `${PG}/contacts` as const;

export const CHANNELS = ['SMS', 'WHATSAPP', 'RCS'] as const;
export type Channel = (typeof CHANNELS)[number];

export const listContacts = (query: Query & { page: number; limit: number }, signal?: AbortSignal) =>
  ok(api.GET(CONTACTS, { params: { query }, signal }));

export type Contact = Awaited<ReturnType<typeof listContacts>>['data'][number];
export type ContactPatch = NonNullable<Parameters<typeof changeContact>[1]>;

export const findContact = (id: number, signal?: AbortSignal) =>
  ok(api.GET(`${CONTACTS}/{id}`, { params: { path: { id } }, signal }));

type Patch = Partial<Omit<Contact, 'customFields'>> & {
  readonly customFields?: Record<string, string | number | boolean | null>;
};
export const changeContact = (id: number, body: Patch) =>
  ok(api.PUT(`${CONTACTS}/{id}`, { params: { path: { id } }, body }));

/** The custom fields of the account, at most 100. */
export const fieldsQuery = {
  queryKey: ['contact-fields'],
  queryFn: ({ signal }: { signal: AbortSignal }) => ok(api.GET(`${CONTACTS}/fields`, { signal })),
  staleTime: 30_000,
};
export type CustomField = Awaited<ReturnType<typeof fieldsQuery.queryFn>>[number];
export type CustomValue = Contact['customFields'][string];

const MOST_LISTS = 1000;

/** The lists to choose from, by name. */
export const listsQuery = {
  queryKey: ['lists', 'all'],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    ok(api.GET(`${CONTACTS}/list`, { params: { query: { page: 0, limit: MOST_LISTS } }, signal })),
  staleTime: 10_000,
};

export type { Schemas };
