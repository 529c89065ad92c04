import type { Paths } from '../api/client.ts';
import { choice, text, type useUrlState } from '../ui/url-state.ts';

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
