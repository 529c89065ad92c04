import { plainArray } from '../../platform/db/array.ts';
import { bigint, boolean, json, rowsOf, smallint, text, timestamptz } from '../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, one, type Sql, sql } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import type { FieldValue, StoredValues } from './fields/values.ts';

export type Gender = 'MALE' | 'FEMALE' | 'OTHER';

/** A contact with what is kept beside it. */
export type ContactRow = {
  id: number;
  firstName: string | null;
  lastName: string | null;
  /** As it was given, or null when it follows from the two above. */
  givenFullName: string | null;
  fullName: string;
  gender: Gender | null;
  phoneNumber: string | null;
  email: string | null;
  isValid: boolean;
  isTest: boolean;
  numberType: string | null;
  country: string | null;
  /** Bits: src/engagement/contacts/channels.ts. */
  channels: number;
  customFields: Record<string, FieldValue>;
  createdAt: Date;
  updatedAt: Date;
  lastContactType: Channel | null;
  lastContactDate: Date | null;
  lastCampaignType: string | null;
  optedOut: Channel[];
};

/** The columns of a `ContactRow`, of `contact c LEFT JOIN contact_activity a`. */
export const CONTACT_COLUMNS: Sql = sql`c.id, c.first_name AS "firstName", c.last_name AS "lastName",
  c.given_full_name AS "givenFullName", c.full_name AS "fullName", c.gender, c.phone_number AS "phoneNumber", c.email,
  c.is_valid AS "isValid", c.is_test AS "isTest", c.number_type AS "numberType", c.country, c.channels,
  c.custom_fields AS "customFields", c.created_at AS "createdAt", c.updated_at AS "updatedAt",
  a.last_contact_type AS "lastContactType", a.last_contact_date AS "lastContactDate",
  a.last_campaign_type AS "lastCampaignType",
  ARRAY (SELECT o.channel FROM opt_out o WHERE o.account_id = c.account_id AND o.phone_number = c.phone_number
         ORDER BY o.channel) AS "optedOut"`;

export const findContact = (
  db: Db,
  { accountId, id }: { accountId: number; id: number },
): Promise<ContactRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${CONTACT_COLUMNS} FROM contact c
        LEFT JOIN contact_activity a ON a.account_id = ${accountId} AND a.contact_id = c.id
        WHERE c.account_id = ${accountId} AND c.id = ${id}`,
  );

/** Which of these numbers are contacts. */
export const listIdsByNumber = (
  db: Db,
  { accountId, numbers }: { accountId: number; numbers: readonly string[] },
): Promise<{ id: number; phoneNumber: string }[]> =>
  many(
    db,
    sql`SELECT id, phone_number AS "phoneNumber" FROM contact
        WHERE account_id = ${accountId} AND phone_number = ANY(${numbers}::text[])`,
  );

/** What is written of a contact. */
export type NewContact = {
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly givenFullName: string | null;
  readonly gender: Gender | null;
  readonly phoneNumber: string | null;
  readonly email: string | null;
  readonly isValid: boolean;
  readonly isTest: boolean;
  readonly numberType: string | null;
  readonly country: string | null;
  readonly channels: number;
  readonly customFields: StoredValues;
};

export type WrittenContact = { id: number; phoneNumber: string | null; created: boolean };

/**
 * Writes contacts. One whose number is a contact already is changed: what the row says replaces what was there, what it
 * leaves null stays, `isTest` can only be set, and the channels stay as carriers corrected them. No number twice in a
 * call. The rows come back in no particular order.
 */
export const insertContacts = (
  db: Db,
  { accountId, rows }: { accountId: number; rows: readonly NewContact[] },
): Promise<WrittenContact[]> =>
  many(
    db,
    sql`INSERT INTO contact AS c (account_id, first_name, last_name, given_full_name, gender, phone_number, email,
          is_valid, is_test, number_type, country, channels, custom_fields)
        SELECT ${accountId}, u.first_name, u.last_name, u.given_full_name, u.gender, u.phone_number, u.email, u.is_valid,
          u.is_test, u.number_type, u.country, u.channels, jsonb_strip_nulls(u.custom_fields::jsonb)
        FROM ${rowsOf(rows, {
          first_name: text((r) => r.firstName),
          last_name: text((r) => r.lastName),
          given_full_name: text((r) => r.givenFullName),
          gender: text((r) => r.gender),
          phone_number: text((r) => r.phoneNumber),
          email: text((r) => r.email),
          is_valid: boolean((r) => r.isValid),
          is_test: boolean((r) => r.isTest),
          number_type: text((r) => r.numberType),
          country: text((r) => r.country),
          channels: smallint((r) => r.channels),
          custom_fields: json((r) => JSON.stringify(r.customFields)),
        })} AS u
        ON CONFLICT (account_id, phone_number) DO UPDATE SET
          first_name = coalesce(excluded.first_name, c.first_name),
          last_name = coalesce(excluded.last_name, c.last_name),
          given_full_name = coalesce(excluded.given_full_name, c.given_full_name),
          gender = coalesce(excluded.gender, c.gender),
          email = coalesce(excluded.email, c.email),
          is_test = c.is_test OR excluded.is_test,
          custom_fields = c.custom_fields || excluded.custom_fields,
          updated_at = now()
        RETURNING c.id, c.phone_number AS "phoneNumber", old.id IS NULL AS created`,
  );

/** Writes one contact anew. Values of custom fields that are no more go. */
export const updateContact = (
  db: Db,
  { accountId, id, row }: { accountId: number; id: number; row: NewContact },
): Promise<{ id: number }> =>
  one(
    db,
    sql`UPDATE contact SET first_name = ${row.firstName}, last_name = ${row.lastName},
          given_full_name = ${row.givenFullName}, gender = ${row.gender}, phone_number = ${row.phoneNumber},
          email = ${row.email}, is_valid = ${row.isValid}, is_test = ${row.isTest}, number_type = ${row.numberType},
          country = ${row.country}, channels = ${row.channels},
          custom_fields = jsonb_strip_nulls(${JSON.stringify(row.customFields)}::jsonb), updated_at = now()
        WHERE account_id = ${accountId} AND id = ${id} RETURNING id`,
  );

/** How many of them were there. */
export const deleteContacts = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number> =>
  exec(db, sql`DELETE FROM contact WHERE account_id = ${accountId} AND id = ANY(${plainArray(ids)}::bigint[])`);

/** All others; how many they were. */
export const deleteOtherContacts = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number> =>
  exec(db, sql`DELETE FROM contact WHERE account_id = ${accountId} AND id <> ALL(${plainArray(ids)}::bigint[])`);

/** What is kept of when contacts were written to. */
export const deleteActivity = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM contact_activity
        WHERE account_id = ${accountId} AND contact_id = ANY(${plainArray(ids)}::bigint[])`,
  );

export const deleteOtherActivity = (
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly number[] },
): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM contact_activity
        WHERE account_id = ${accountId} AND contact_id <> ALL(${plainArray(ids)}::bigint[])`,
  );

export type LastContact = {
  readonly accountId: number;
  readonly contactId: number;
  readonly channel: Channel;
  readonly at: Date;
  /** The sending mode of the campaign; null when it was none, which leaves that of the last campaign. */
  readonly campaignType: string | null;
};

/** Notes that contacts were written to; never back in time. Each contact once in a call, in the order of their ids. */
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

export type ChannelUpdate = {
  readonly accountId: number;
  readonly phoneNumber: string;
  /** Bits to set, and bits to take away. */
  readonly on: number;
  readonly off: number;
};

/** Corrects what numbers can be reached on, of many accounts; numbers that are no contact are passed over. */
export const updateChannels = (db: Db, moves: readonly ChannelUpdate[]): Promise<number> =>
  exec(
    db,
    sql`UPDATE contact c SET channels = (c.channels | u.on_bits) & ~u.off_bits
        FROM ${rowsOf(moves, {
          account_id: bigint((m) => m.accountId),
          phone_number: text((m) => m.phoneNumber),
          on_bits: smallint((m) => m.on),
          off_bits: smallint((m) => m.off),
        })} AS u
        WHERE c.account_id = u.account_id AND c.phone_number = u.phone_number
          AND c.channels <> ((c.channels | u.on_bits) & ~u.off_bits)`,
  );
