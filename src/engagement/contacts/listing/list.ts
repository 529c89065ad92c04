import type { Db } from '../../../platform/db/query.ts';
import { findList } from '../lists/sql.ts';
import { findBook } from '../book/sql.ts';
import type { ContactRow } from '../sql.ts';
import { type ContactFilter, type ContactOrder, type ContactPage, countContacts } from './sql.ts';
import { countSearchHits, listContacts, listSearchHits } from './sql.ts';

/**
 * A search with more hits reads the contacts in order and checks each: a match that many contacts have is soon found.
 */
const MAX_HITS = 10_000;

export type ListQuery = {
  readonly filter: ContactFilter;
  readonly order: ContactOrder;
  /** Contacts of this list come before all others. */
  readonly priorityListId?: number | undefined;
  readonly limit: number;
  readonly offset: number;
};

export type ContactsWithTotal = { readonly rows: ContactRow[]; readonly total: number };

/**
 * Finds one page of an account's contacts and the exact total. Among a million contacts, both take milliseconds where
 * an index or a counter can be used. `db` must be bound to the account (src/platform/db/tenant.ts): otherwise searches
 * find nothing.
 */
export async function findContacts(
  db: Db,
  { filter: asked, priorityListId, ...page }: ListQuery,
): Promise<ContactsWithTotal> {
  const filter = await withHits(db, asked);
  if (priorityListId === undefined) return readPage(db, { ...page, filter }, asked);
  const groups = filter.listGroups ?? [];
  const first = { ...filter, listGroups: [[priorityListId], ...groups] };
  const others = { ...filter, notListIds: [...(filter.notListIds ?? []), priorityListId] };
  const ahead = await totalOf(db, first, first);
  const rows = page.offset < ahead ? await listContacts(db, { ...page, filter: first }) : [];
  const left = { limit: page.limit - rows.length, offset: Math.max(0, page.offset - ahead) };
  const rest = left.limit > 0 ? await listContacts(db, { ...page, ...left, filter: others }) : [];
  return { rows: [...rows, ...rest], total: await totalOf(db, filter, asked) };
}

/** Reads a page; if it is not full, the total follows from it. */
async function readPage(db: Db, page: ContactPage, asked: ContactFilter): Promise<ContactsWithTotal> {
  const rows = await listContacts(db, page);
  const isLast = rows.length < page.limit && (rows.length > 0 || page.offset === 0);
  return { rows, total: isLast ? page.offset + rows.length : await totalOf(db, page.filter, asked) };
}

/** Replaces the search of a filter by its hits, unless there are too many. */
async function withHits(db: Db, filter: ContactFilter): Promise<ContactFilter> {
  const { search, ...others } = filter;
  if (search === undefined) return filter;
  const hits = await listSearchHits(db, { accountId: filter.accountId, search, limit: MAX_HITS + 1 });
  return hits.length > MAX_HITS ? filter : { ...others, hits };
}

/**
 * Finds the total: from counters, the hits, or the search index alone if there are no other filters; else by counting.
 */
async function totalOf(db: Db, filter: ContactFilter, asked: ContactFilter): Promise<number> {
  const { accountId, search, listGroups = [], ...rest } = asked;
  const narrowed = Object.values(rest).some((value) => value !== undefined);
  if (narrowed || (search !== undefined && listGroups.length > 0)) return countContacts(db, { filter });
  if (search === undefined) return totalOfLists(db, filter);
  return filter.hits?.length ?? countSearchHits(db, { accountId, search });
}

/** Finds the total of lists: there are counters for a single list and for the account. */
async function totalOfLists(db: Db, filter: ContactFilter): Promise<number> {
  const { accountId, listGroups = [] } = filter;
  const [listIds, ...others] = listGroups;
  if (listIds === undefined) return (await findBook(db, { accountId }))?.contacts ?? 0;
  const [id, another] = listIds;
  if (id === undefined || another !== undefined || others.length > 0) return countContacts(db, { filter });
  return (await findList(db, { accountId, id }))?.contactCount ?? 0;
}
