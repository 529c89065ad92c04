import { type Author, recordAudit } from '../accounts/audit.ts';
import { as, columns, type Db, exec, maybeOne, one, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { AppError } from '../core/errors.ts';
import type { NumberChecks } from '../core/phone.ts';

/** Number of contacts that an account may have, and that it has. Null: no limit. */
export type Limits = {
  readonly planLimit: number | null;
  readonly extraLimit: number;
  readonly totalLimit: number | null;
  readonly used: number;
  readonly remaining: number | null;
};

/** Calculates the limits of an account. If it has more contacts than allowed (the limit was lowered), 0 remain. */
export function limitsOf({
  planLimit,
  extraLimit,
  contacts,
}: Pick<ContactBook, 'planLimit' | 'extraLimit' | 'contacts'>): Limits {
  const totalLimit = planLimit === null ? null : planLimit + extraLimit;
  const remaining = totalLimit === null ? null : Math.max(0, totalLimit - contacts);
  return { planLimit, extraLimit, totalLimit, used: contacts, remaining };
}

/** The error of an account that has as many contacts as its plan allows: 403. */
export const limitReached = ({ totalLimit }: Limits): AppError =>
  new AppError('forbidden', { message: `The contact limit of the plan (${totalLimit}) is reached` });

/** New limits; omitted ones are unchanged. A `planLimit` of null allows any number. */
type NewLimits = { readonly planLimit?: number | null | undefined; readonly extraLimit?: number | undefined };

/** Sets the contact limits of the author's account, and returns its limits. Call it in a transaction. Errors: 404. */
export async function setLimits(tx: Db, author: Author, input: NewLimits): Promise<Limits> {
  const { accountId } = author;
  const book = await findBook(tx, { accountId });
  if (!book) throw new AppError('not_found', { message: 'The account has no contacts and no limits' });
  const { planLimit = book.planLimit, extraLimit = book.extraLimit } = input;
  const limits = { planLimit, extraLimit };
  if (input.planLimit !== undefined || input.extraLimit !== undefined) {
    await updateLimits(tx, { accountId, ...limits });
    await recordAudit(tx, author, { action: 'contact.limit', subject: 'contacts', detail: limits });
  }
  return limitsOf({ ...book, ...limits });
}

const CONTACT_BOOK = columns({
  contacts: as<number>('contacts'),
  /** Number of contacts that the plan allows; null: no limit. */
  planLimit: as<number | null>('plan_limit'),
  /** Contacts allowed in addition to the plan. */
  extraLimit: as<number>('extra_limit'),
  /** The number rules of the account: these two are columns of the account. */
  defaultCountry: as<string | null>('(SELECT a.default_country FROM account a WHERE a.id = account_id)'),
  numberChecks: as<NumberChecks>('(SELECT a.number_checks FROM account a WHERE a.id = account_id)'),
});

/** Number of contacts that an account has and may have, and its number rules. */
type ContactBook = RowOf<typeof CONTACT_BOOK>;

/** Purpose of a transaction that uses the contacts of an account. */
type BookPurpose = 'associate' | 'create' | 'change';

const LOCKS: Readonly<Record<BookPurpose, Sql>> = {
  associate: sql`FOR KEY SHARE`,
  create: sql`FOR NO KEY UPDATE`,
  change: sql`FOR UPDATE`,
};

/**
 * Finds the contact book of an account and locks it until the transaction ends. To avoid deadlocks, lock it first,
 * before lists and contacts. The purposes:
 *
 * - `associate`: associations with lists are added or removed. Compatible with itself and with `create`.
 * - `create`: contacts are created. One transaction at a time, so that what was looked up (numbers, the limit) still
 *   holds at the insert.
 * - `change`: contacts are changed or deleted. Exclusive: an association that is being added would miss the change.
 */
export const claimBook = (db: Db, { accountId, to }: { accountId: number; to: BookPurpose }): Promise<ContactBook> =>
  one(db, sql`SELECT ${CONTACT_BOOK} FROM contact_book WHERE account_id = ${accountId} ${LOCKS[to]}`);

export const findBook = (db: Db, { accountId }: { accountId: number }): Promise<ContactBook | undefined> =>
  maybeOne(db, sql`SELECT ${CONTACT_BOOK} FROM contact_book WHERE account_id = ${accountId}`);

export const insertBook = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(db, sql`INSERT INTO contact_book (account_id) VALUES (${accountId})`);

/** Adds to the count of contacts (a negative number: subtracts), in the transaction that creates or deletes them. */
export const updateContactCount = (db: Db, { accountId, by }: { accountId: number; by: number }): Promise<number> =>
  exec(db, sql`UPDATE contact_book SET contacts = contacts + ${by} WHERE account_id = ${accountId}`);

/** Sets the limits of an account. Returns 0 when there is no such account. */
export const updateLimits = (
  db: Db,
  input: { accountId: number; planLimit: number | null; extraLimit: number },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE contact_book SET plan_limit = ${input.planLimit}, extra_limit = ${input.extraLimit}
        WHERE account_id = ${input.accountId}`,
  );
