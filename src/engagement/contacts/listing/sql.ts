import { plainArray, textArray } from '../../../platform/db/array.ts';
import { containsPattern } from '../../../platform/db/like.ts';
import { type Db, join, many, one, raw, type Sql, sql } from '../../../platform/db/query.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import type { StoredValues } from '../fields/values.ts';
import { CONTACT, type ContactRow, type Gender } from '../sql.ts';

/** Filter for listing contacts of an account. An undefined filter matches all of them. */
export type ContactFilter = {
  readonly accountId: number;
  /** A part of the name, number or email address, case-insensitive. */
  readonly search?: string | undefined;
  /** The ids of the contacts that a search has found, instead of `search`. */
  readonly hits?: readonly number[] | undefined;
  readonly contactIds?: readonly number[] | undefined;
  /** Groups of lists; the contact is in at least one list of each group. */
  readonly listGroups?: readonly (readonly number[])[] | undefined;
  /** The contact is in none of these lists. */
  readonly notListIds?: readonly number[] | undefined;
  readonly gender?: Gender | undefined;
  readonly isValid?: boolean | undefined;
  readonly isTest?: boolean | undefined;
  /** Bits: the contact can be reached on at least one of these channels. */
  readonly channels?: number | undefined;
  readonly phoneNumber?: string | undefined;
  readonly email?: string | undefined;
  readonly lastContactType?: Channel | undefined;
  readonly lastCampaignType?: string | undefined;
  /** The contact has opted out of at least one of these channels. */
  readonly optedOut?: readonly Channel[] | undefined;
  /** Created at this instant or later. */
  readonly createdFrom?: Date | undefined;
  /** Created before this instant. */
  readonly createdTo?: Date | undefined;
  readonly customFields?: StoredValues | undefined;
};

const anyOf = (column: Sql, ids: readonly number[]): Sql => sql`${column} = ANY(${plainArray(ids)}::bigint[])`;

const memberOf = (accountId: number, listIds: readonly number[]): Sql =>
  sql`EXISTS (SELECT FROM contact_list_member m WHERE m.account_id = ${accountId} AND m.contact_id = c.id
              AND ${anyOf(sql`m.list_id`, listIds)})`;

const activity = (accountId: number, condition: Sql): Sql =>
  sql`EXISTS (SELECT FROM contact_activity a WHERE a.account_id = ${accountId} AND a.contact_id = c.id AND ${condition})`;

const optedOutOf = (accountId: number, channels: readonly Channel[]): Sql =>
  sql`EXISTS (SELECT FROM opt_out o WHERE o.account_id = ${accountId} AND o.phone_number = c.phone_number
              AND o.channel = ANY(${textArray(channels)}::text[]))`;

const when = <T>(value: T | undefined, condition: (value: T) => Sql): Sql[] =>
  value === undefined ? [] : [condition(value)];

/** The expression of the index contact_search. */
const matchesSearch = (text: string): Sql =>
  sql`lower(c.full_name || E'\n' || coalesce(c.phone_number, '') || E'\n' || coalesce(c.email, '')) LIKE ${containsPattern(text)}`;

function matching(filter: ContactFilter): Sql {
  const { accountId } = filter;
  return join(
    [
      sql`c.account_id = ${accountId}`,
      ...when(filter.search, matchesSearch),
      ...when(filter.hits, (ids) => anyOf(sql`c.id`, ids)),
      ...when(filter.contactIds, (ids) => anyOf(sql`c.id`, ids)),
      ...(filter.listGroups ?? []).map((listIds) => memberOf(accountId, listIds)),
      ...when(filter.notListIds, (listIds) => sql`NOT ${memberOf(accountId, listIds)}`),
      ...when(filter.gender, (gender) => sql`c.gender = ${gender}`),
      ...when(filter.isValid, (valid) => sql`c.is_valid = ${valid}`),
      ...when(filter.isTest, (test) => sql`c.is_test = ${test}`),
      ...when(filter.channels, (bits) => sql`c.channels & c.allowed_channels & ${bits}::smallint <> 0`),
      ...when(filter.phoneNumber, (number) => sql`c.phone_number = ${number}`),
      ...when(filter.email, (address) => sql`c.email = ${address}`),
      ...when(filter.lastContactType, (type) => activity(accountId, sql`a.last_contact_type = ${type}`)),
      ...when(filter.lastCampaignType, (type) => activity(accountId, sql`a.last_campaign_type = ${type}`)),
      ...when(filter.optedOut, (channels) => optedOutOf(accountId, channels)),
      ...when(filter.createdFrom, (from) => sql`c.created_at >= ${from}`),
      ...when(filter.createdTo, (to) => sql`c.created_at < ${to}`),
      ...when(filter.customFields, (values) => sql`c.custom_fields @> ${JSON.stringify(values)}::jsonb`),
    ],
    ' AND ',
  );
}

/**
 * The orders of contacts. They are created one transaction at a time, so their ids are in the order of their creation.
 */
export const CONTACT_ORDERS = {
  fullName: 'lower(c.full_name)',
  firstName: 'lower(c.first_name)',
  lastName: 'lower(c.last_name)',
  phoneNumber: 'c.phone_number',
  email: 'c.email',
  createdAt: 'c.id',
  id: 'c.id',
  updatedAt: 'c.updated_at',
} as const;
export type ContactOrder = { readonly sortBy: keyof typeof CONTACT_ORDERS; readonly descending: boolean };

export type ContactPage = {
  readonly filter: ContactFilter;
  readonly order: ContactOrder;
  readonly limit: number;
  readonly offset: number;
};

/** A SELECT of the ids of a page. The order is applied again when they are joined with their contacts. */
function idsByOrder({ filter, order, limit, offset }: ContactPage): Sql {
  const direction = raw(order.descending ? 'DESC' : 'ASC');
  return sql`SELECT c.id FROM contact c WHERE ${matching(filter)}
    ORDER BY ${raw(CONTACT_ORDERS[order.sortBy])} ${direction}, c.id ${direction} LIMIT ${limit} OFFSET ${offset}`;
}

/**
 * A SELECT of the ids of a page of lists, by name: each list is read in the order of its index up to the end of the
 * page, and the lists are merged.
 */
function idsOfLists(listIds: readonly number[], { filter, order, limit, offset }: ContactPage): Sql {
  const direction = raw(order.descending ? 'DESC' : 'ASC');
  return sql`SELECT DISTINCT t.name_key, t.id
    FROM unnest(${plainArray(listIds)}::bigint[]) AS l (id), LATERAL (
      SELECT m.name_key, c.id FROM contact_list_member m JOIN contact c ON c.id = m.contact_id
      WHERE m.account_id = ${filter.accountId} AND m.list_id = l.id AND ${matching(filter)}
      ORDER BY m.name_key ${direction}, m.contact_id ${direction} LIMIT ${limit + offset}) AS t
    ORDER BY t.name_key ${direction}, t.id ${direction} LIMIT ${limit} OFFSET ${offset}`;
}

/** Lists one page of the contacts that match. */
export function listContacts(db: Db, page: ContactPage): Promise<ContactRow[]> {
  const { filter, order } = page;
  const [listIds, ...listGroups] = filter.listGroups ?? [];
  const ids =
    listIds !== undefined && order.sortBy === 'fullName'
      ? idsOfLists(listIds, { ...page, filter: { ...filter, listGroups } })
      : idsByOrder(page);
  const direction = raw(order.descending ? 'DESC' : 'ASC');
  return many(
    db,
    sql`SELECT ${CONTACT} FROM (${ids}) AS p
        JOIN contact c ON c.account_id = ${filter.accountId} AND c.id = p.id
        LEFT JOIN contact_activity a ON a.account_id = ${filter.accountId} AND a.contact_id = c.id
        ORDER BY ${raw(CONTACT_ORDERS[order.sortBy])} ${direction}, c.id ${direction}`,
  );
}

export async function countContacts(db: Db, { filter }: { filter: ContactFilter }): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total FROM contact c WHERE ${matching(filter)}`))
    .total;
}

/**
 * Lists the ids of up to `limit` contacts that a search finds, of the account that `db` is bound to
 * (src/platform/db/tenant.ts); none if it is bound to no account. It uses the trigram index: a search that few contacts
 * match takes 1 to 5 ms among a million.
 */
export async function listSearchHits(
  db: Db,
  { search, limit }: { accountId: number; search: string; limit: number },
): Promise<number[]> {
  const rows = await many<{ id: number }>(db, sql`SELECT search_contacts(${containsPattern(search)}, ${limit}) AS id`);
  return rows.map(({ id }) => id);
}

/** Counts the contacts that a search finds, of the account that `db` is bound to. */
export async function countSearchHits(db: Db, { search }: { accountId: number; search: string }): Promise<number> {
  const row = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total FROM search_contacts(${containsPattern(search)}, NULL)`,
  );
  return row.total;
}
