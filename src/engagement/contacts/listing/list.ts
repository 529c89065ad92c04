import type { Db } from '../../../platform/db/query.ts';
import { findList } from '../lists/sql.ts';
import { findBook } from '../book/sql.ts';
import type { ContactRow } from '../sql.ts';
import { type ContactFilter, type ContactOrder, type ContactPage, countContacts } from './sql.ts';
import { countSearchHits, listContacts, listSearchHits } from './sql.ts';

/** Searches with more hits read contacts in order and look at each: what many have is soon found. */
const MAX_HITS = 10_000;

export type ListQuery = {
  readonly filter: ContactFilter;
  readonly order: ContactOrder;
  /** Contacts of this list come first. */
  readonly priorityListId?: number | undefined;
  readonly limit: number;
  readonly offset: number;
};

export type ContactsWithTotal = { readonly rows: ContactRow[]; readonly total: number };

/**
 * One page of an account's contacts with the exact total, both within milliseconds among a million where an index or a
 * counter serves. `db` must be bound to the account (src/platform/db/tenant.ts): searches find nothing otherwise.
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

/** A page that is not full tells the total by itself. */
async function readPage(db: Db, page: ContactPage, asked: ContactFilter): Promise<ContactsWithTotal> {
  const rows = await listContacts(db, page);
  const isLast = rows.length < page.limit && (rows.length > 0 || page.offset === 0);
  return { rows, total: isLast ? page.offset + rows.length : await totalOf(db, page.filter, asked) };
}

/** With the hits of its search in place of the search, unless they are too many. */
async function withHits(db: Db, filter: ContactFilter): Promise<ContactFilter> {
  const { search, ...others } = filter;
  if (search === undefined) return filter;
  const hits = await listSearchHits(db, { accountId: filter.accountId, search, most: MAX_HITS + 1 });
  return hits.length > MAX_HITS ? filter : { ...others, hits };
}

/** From counters, the hits, or the search index alone, where nothing else narrows it down. */
async function totalOf(db: Db, filter: ContactFilter, asked: ContactFilter): Promise<number> {
  const { accountId, search, listGroups = [], ...rest } = asked;
  const narrowed = Object.values(rest).some((value) => value !== undefined);
  if (narrowed || (search !== undefined && listGroups.length > 0)) return countContacts(db, { filter });
  if (search === undefined) return totalOfLists(db, filter);
  return filter.hits?.length ?? countSearchHits(db, { accountId, search });
}

/** Counters know the contacts of one list, and of the account. */
async function totalOfLists(db: Db, filter: ContactFilter): Promise<number> {
  const { accountId, listGroups = [] } = filter;
  const [listIds, ...others] = listGroups;
  if (listIds === undefined) return (await findBook(db, { accountId }))?.contacts ?? 0;
  const [id, another] = listIds;
  if (id === undefined || another !== undefined || others.length > 0) return countContacts(db, { filter });
  return (await findList(db, { accountId, id }))?.contactCount ?? 0;
}
