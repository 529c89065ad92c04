import { type Db, exec, maybeOne, one, type Sql, sql } from '../../../platform/db/query.ts';

/** How many contacts an account has and may have (null: any number), and how its numbers are read. */
export type ContactBook = {
  contacts: number;
  planLimit: number | null;
  extraLimit: number;
  defaultCountry: string | null;
};

const RECORD = sql`
  SELECT contacts, plan_limit AS "planLimit", extra_limit AS "extraLimit", default_country AS "defaultCountry"
  FROM contact_book`;

/** Why a transaction wants the account's contacts to hold still. */
export type BookPurpose = 'associate' | 'create' | 'change';

const LOCKS: Readonly<Record<BookPurpose, Sql>> = {
  associate: sql`FOR KEY SHARE`,
  create: sql`FOR NO KEY UPDATE`,
  change: sql`FOR UPDATE`,
};

/**
 * The book of an account, held until the transaction ends. Take it first, before lists and before contacts, so that
 * nobody waits in a circle:
 *
 * - `associate`: associations come or go. Goes along with itself and with `create`.
 * - `create`: contacts come. One at a time, so that what was looked up (numbers, the limit) still holds at the insert.
 * - `change`: contacts are changed or deleted. Alone: an association that is being added would miss it.
 */
export const claimBook = (db: Db, { accountId, to }: { accountId: number; to: BookPurpose }): Promise<ContactBook> =>
  one(db, sql`${RECORD} WHERE account_id = ${accountId} ${LOCKS[to]}`);

export const findBook = (db: Db, { accountId }: { accountId: number }): Promise<ContactBook | undefined> =>
  maybeOne(db, sql`${RECORD} WHERE account_id = ${accountId}`);

/** With every new account. */
export const insertBook = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(db, sql`INSERT INTO contact_book (account_id) VALUES (${accountId})`);

/** Counts contacts that came (or went: a negative number), in the transaction in which they did. */
export const updateContactCount = (db: Db, { accountId, by }: { accountId: number; by: number }): Promise<number> =>
  exec(db, sql`UPDATE contact_book SET contacts = contacts + ${by} WHERE account_id = ${accountId}`);

/** 0 when there is no such account. */
export const updateLimits = (
  db: Db,
  input: { accountId: number; planLimit: number | null; extraLimit: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE contact_book SET plan_limit = ${input.planLimit}, extra_limit = ${input.extraLimit}
        WHERE account_id = ${input.accountId}`,
  );

export const updateDefaultCountry = (
  db: Db,
  { accountId, country }: { accountId: number; country: string | null },
): Promise<number> =>
  exec(db, sql`UPDATE contact_book SET default_country = ${country} WHERE account_id = ${accountId}`);
