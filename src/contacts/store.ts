import { CHANNELS, type Channel, toBits } from '../core/channels.ts';
import { bigint, input, insertRows, json, rowsOf, smallint, text, timestamptz } from '../core/db/columns.ts';
import {
  as,
  columns,
  containsPattern,
  countRows,
  type Db,
  exec,
  join,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  raw,
  type Sql,
  sql,
  textArray,
} from '../core/db/query.ts';
import { personOf } from '../core/phone.ts';
import {
  byField,
  CONTACT_FIELDS,
  columnOf,
  OWN_FIELDS,
  propertyOf,
  STORED_FIELDS,
  type StoredField,
  type StoredFields,
} from './contact-fields.ts';
import type { FieldValue, StoredValues } from './fields.ts';

type StoredColumns = { readonly [K in StoredField]: ReturnType<typeof as<StoredFields[K]>> };

/** The columns of a contact, to be selected from `contact c LEFT JOIN contact_activity a`. */
export const CONTACT = columns({
  id: as<number>('c.id'),
  ...byField<StoredColumns>(STORED_FIELDS, (name) => as(sql`c.${columnOf(name)}`)),
  /** The full name as it was given; null: it is composed of the first and last name. */
  givenFullName: as<string | null>('c.given_full_name'),
  fullName: as<string>('c.full_name'),
  /** Bits of the channels on which the number can be reached (src/contacts/read.ts). */
  channels: as<number>('c.channels'),
  /** Bits of the channels on which campaigns may write to the contact, as the client set them. */
  allowedChannels: as<number>('c.allowed_channels'),
  /** Values by the ids of their fields. */
  customFields: as<Record<string, FieldValue>>('c.custom_fields'),
  createdAt: as<Date>('c.created_at'),
  updatedAt: as<Date>('c.updated_at'),
  lastContactType: as<Channel | null>('a.last_contact_type'),
  lastContactDate: as<Date | null>('a.last_contact_date'),
  lastCampaignType: as<string | null>('a.last_campaign_type'),
  optedOut: as<Channel[]>(
    sql`ARRAY (SELECT o.channel FROM opt_out o WHERE o.account_id = c.account_id AND o.person = c.person
         ORDER BY o.channel)`,
  ),
});

/** A contact with its last activity and its opt-outs. */
export type ContactRow = RowOf<typeof CONTACT>;

/** Returns the name to show: the full name, or else the number, or else the email address. */
export const displayName = ({ fullName, phoneNumber, email }: Pick<ContactRow, 'fullName' | 'phoneNumber' | 'email'>) =>
  fullName || (phoneNumber ?? email ?? '');

export const findContact = (
  db: Db,
  { accountId, id }: { accountId: number; id: number },
): Promise<ContactRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${CONTACT} FROM contact c
        LEFT JOIN contact_activity a ON a.account_id = ${accountId} AND a.contact_id = c.id
        WHERE c.account_id = ${accountId} AND c.id = ${id}`,
  );

/** Lists the ids of the contacts with these numbers (E.164), in whatever form, by their persons (`personOf`). */
export const listIdsByPerson = (
  db: Db,
  { accountId, numbers }: { accountId: number; numbers: readonly string[] },
): Promise<{ id: number; person: string }[]> =>
  many(
    db,
    sql`SELECT id, person FROM contact
        WHERE account_id = ${accountId} AND person = ANY(${textArray(numbers.map(personOf))}::text[])`,
  );

export type NewContact = StoredFields & {
  readonly givenFullName: string | null;
  readonly channels: number;
  /** Bits of the channels on which campaigns may write to the contact. Default: all. */
  readonly allowedChannels?: number;
  readonly customFields: StoredValues;
};

const ALL_CHANNELS = toBits(CHANNELS);

const WRITTEN_CONTACT = columns({
  id: as<number>('c.id'),
  person: as<string | null>('c.person'),
  /** True if the contact is new; false: an existing one was changed. */
  created: as<boolean>('(SELECT o.id FROM contact o WHERE o.account_id = c.account_id AND o.id = c.id) IS NULL'),
});

export type WrittenContact = RowOf<typeof WRITTEN_CONTACT>;

/** An assignment for each own field: null and false leave the value of the contact as it is. */
const MERGED = join(
  OWN_FIELDS.map((name) => {
    const column = columnOf(name);
    return CONTACT_FIELDS[name].own.empty === null
      ? sql`${column} = coalesce(excluded.${column}, c.${column})`
      : sql`${column} = c.${column} OR excluded.${column}`;
  }),
);

/**
 * Inserts contacts. If a number is a contact already, that contact is changed: values of the row replace its values,
 * null leaves them as they are, `isTest` can only be set, and the number and channels stay as they are. A first or
 * last name that differs replaces an older full name, which would hide it. No person may occur twice in one call. The
 * rows are returned in no particular order. The caller has claimed the book (`claimBook`): the previous values are read
 * as of the beginning of the statement.
 */
export const insertContacts = (
  db: Db,
  { accountId, rows }: { accountId: number; rows: readonly NewContact[] },
): Promise<WrittenContact[]> =>
  many(
    db,
    sql`${insertRows(
      'contact AS c',
      rows.map(({ allowedChannels = ALL_CHANNELS, ...row }) => ({
        ...row,
        allowedChannels,
        customFields: JSON.stringify(row.customFields),
      })),
      {
        ...propertyOf('stored'),
        givenFullName: text,
        channels: smallint,
        allowedChannels: smallint,
        customFields: input(json),
      },
      { account_id: sql`${accountId}`, custom_fields: sql`jsonb_strip_nulls(u.custom_fields::jsonb)` },
    )}
        ON CONFLICT (account_id, person) DO UPDATE SET
          ${MERGED},
          given_full_name = coalesce(excluded.given_full_name,
            CASE WHEN coalesce(excluded.first_name, c.first_name) IS NOT DISTINCT FROM c.first_name
                  AND coalesce(excluded.last_name, c.last_name) IS NOT DISTINCT FROM c.last_name
                 THEN c.given_full_name END),
          custom_fields = c.custom_fields || excluded.custom_fields,
          updated_at = now()
        RETURNING ${WRITTEN_CONTACT}`,
  );

/** Replaces all fields of one contact. Values of custom fields that `row` does not have are removed. */
export const updateContact = (
  db: Db,
  { accountId, id, row }: { accountId: number; id: number; row: NewContact },
): Promise<{ id: number }> =>
  one(
    db,
    sql`UPDATE contact SET ${join(STORED_FIELDS.map((name) => sql`${columnOf(name)} = ${row[name]}`))},
          given_full_name = ${row.givenFullName}, channels = ${row.channels},
          allowed_channels = ${row.allowedChannels ?? ALL_CHANNELS},
          custom_fields = jsonb_strip_nulls(${JSON.stringify(row.customFields)}::jsonb), updated_at = now()
        WHERE account_id = ${accountId} AND id = ${id} RETURNING id`,
  );

export const deleteContacts = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number> =>
  exec(db, sql`DELETE FROM contact WHERE account_id = ${accountId} AND id = ANY(${plainArray(ids)}::bigint[])`);

export const deleteOtherContacts = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number> =>
  exec(db, sql`DELETE FROM contact WHERE account_id = ${accountId} AND id <> ALL(${plainArray(ids)}::bigint[])`);

/** Deletes the last activity of these contacts. */
export const deleteActivity = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM contact_activity
        WHERE account_id = ${accountId} AND contact_id = ANY(${plainArray(ids)}::bigint[])`,
  );

/** Deletes the last activity of all contacts but these. */
export const deleteOtherActivity = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM contact_activity
        WHERE account_id = ${accountId} AND contact_id <> ALL(${plainArray(ids)}::bigint[])`,
  );

/** Time and channel of the last message to a contact. */
export type LastContact = {
  readonly accountId: number;
  readonly contactId: number;
  readonly channel: Channel;
  readonly at: Date;
  /** The sending mode of the campaign; null when it was not a campaign: then the last sending mode stays. */
  readonly campaignType: string | null;
};

/**
 * Records when contacts were last sent a message; an earlier time never replaces a later one. Each contact may occur
 * once in a call, in the order of the ids.
 */
export const insertLastContacts = (db: Db, rows: readonly LastContact[]): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO contact_activity AS a (account_id, contact_id, last_contact_type, last_contact_date,
          last_campaign_type)
        SELECT u.account_id, u.contact_id, u.channel, u.at, u.campaign_type
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          contact_id: bigint((r) => r.contactId),
          channel: text((r) => r.channel),
          at: timestamptz((r) => r.at),
          campaign_type: text((r) => r.campaignType),
        })} AS u
        ON CONFLICT (account_id, contact_id) DO UPDATE SET
          last_contact_type = excluded.last_contact_type, last_contact_date = excluded.last_contact_date,
          last_campaign_type = coalesce(excluded.last_campaign_type, a.last_campaign_type)
        WHERE a.last_contact_date <= excluded.last_contact_date`,
  );

/** Filter for listing contacts of an account. An undefined filter matches all of them. */
export type ContactFilter = { readonly [K in StoredField]?: NonNullable<StoredFields[K]> | undefined } & {
  readonly accountId: number;
  /** A part of the name, number or email address, case-insensitive. */
  readonly search?: string | undefined;
  /** The ids of the contacts that a search has found, instead of `search`. */
  readonly hits?: readonly number[] | undefined;
  readonly contactIds?: readonly number[] | undefined;
  /** Groups of lists; the contact is in at least one list of each group. */
  readonly listGroups?: readonly (readonly number[])[] | undefined;
  readonly notListIds?: readonly number[] | undefined;
  /** Bits: the contact can be reached on at least one of these channels. */
  readonly channels?: number | undefined;
  readonly lastContactType?: Channel | undefined;
  readonly lastCampaignType?: string | undefined;
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
  sql`EXISTS (SELECT FROM opt_out o WHERE o.account_id = ${accountId} AND o.person = c.person
              AND o.channel = ANY(${textArray(channels)}::text[]))`;

const when = <T>(value: T | undefined, condition: (value: T) => Sql): Sql[] =>
  value === undefined ? [] : [condition(value)];

/** A number is found in each of its forms. */
const hasValue = (name: StoredField, value: unknown): Sql =>
  name === 'phoneNumber' ? sql`c.person = ${personOf(String(value))}` : sql`c.${columnOf(name)} = ${value}`;

/** The expression of the index contact_search. */
const matchesSearch = (text: string): Sql =>
  sql`fold_text(c.full_name || E'\n' || coalesce(c.phone_number, '') || E'\n' || coalesce(c.email, '')) LIKE ${containsPattern(text)}`;

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
      ...STORED_FIELDS.flatMap((name) => when(filter[name], (value) => hasValue(name, value))),
      ...when(filter.channels, (bits) => sql`c.channels & c.allowed_channels & ${bits}::smallint <> 0`),
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

export const countContacts = (db: Db, { filter }: { filter: ContactFilter }): Promise<number> =>
  countRows(db, sql`FROM contact c WHERE ${matching(filter)}`);

/**
 * Lists the ids of up to `limit` contacts that a search finds, of the account that `db` is bound to
 * (src/core/db/transaction.ts); none if it is bound to no account. It uses the trigram index: a search that few contacts
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
export const countSearchHits = (db: Db, { search }: { accountId: number; search: string }): Promise<number> =>
  countRows(db, sql`FROM search_contacts(${containsPattern(search)}, NULL)`);
