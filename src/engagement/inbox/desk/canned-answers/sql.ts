import { type Db, many, maybeOne, one, sql } from '../../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../../platform/db/select.ts';

const CANNED = columns({ id: as<number>('a.id'), shortcut: as<string>('a.shortcut'), text: as<string>('a.text') });
/** A text that agents insert by its shortcut. */
export type CannedAnswer = RowOf<typeof CANNED>;

type Of = { readonly accountId: number };

/** Lists all canned answers of an account, by shortcut. */
export const listCannedAnswers = (db: Db, { accountId }: Of): Promise<CannedAnswer[]> =>
  many(db, sql`SELECT ${CANNED} FROM canned_answer a WHERE a.account_id = ${accountId} ORDER BY a.shortcut`);

export async function countCannedAnswers(db: Db, { accountId }: Of): Promise<number> {
  const { total } = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total FROM canned_answer WHERE account_id = ${accountId}`,
  );
  return total;
}

/** Inserts a canned answer; undefined when the shortcut is taken. */
export const insertCannedAnswer = (
  db: Db,
  { accountId, shortcut, text }: Of & Omit<CannedAnswer, 'id'>,
): Promise<CannedAnswer | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO canned_answer AS a (account_id, shortcut, text) VALUES (${accountId}, ${shortcut}, ${text})
        ON CONFLICT (account_id, shortcut) DO NOTHING RETURNING ${CANNED}`,
  );

/**
 * Updates a canned answer; null leaves a field unchanged. Undefined: unknown id. Fails (23505) when the shortcut is
 * taken.
 */
export const updateCannedAnswer = (
  db: Db,
  input: Of & { readonly id: number; readonly shortcut: string | null; readonly text: string | null },
): Promise<CannedAnswer | undefined> =>
  maybeOne(
    db,
    sql`UPDATE canned_answer a SET shortcut = coalesce(${input.shortcut}, a.shortcut), text = coalesce(${input.text}, a.text)
        WHERE a.account_id = ${input.accountId} AND a.id = ${input.id} RETURNING ${CANNED}`,
  );

/** Deletes a canned answer; undefined when the account has none with this id. */
export const deleteCannedAnswer = (
  db: Db,
  { accountId, id }: Of & { readonly id: number },
): Promise<CannedAnswer | undefined> =>
  maybeOne(db, sql`DELETE FROM canned_answer a WHERE a.account_id = ${accountId} AND a.id = ${id} RETURNING ${CANNED}`);
