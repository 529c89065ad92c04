import { snakeCase } from '../core/db/columns.ts';
import { type Columns, countRows, type Db, join, many, maybeOne, one, raw, type Sql, sql } from '../core/db/query.ts';
import { AppError, existing } from '../core/errors.ts';
import { type Author, recordAudit } from './audit.ts';

type Of = { readonly accountId: number };
type Paging = { readonly limit: number; readonly offset: number };

type Description<R, F extends keyof R & string> = {
  readonly table: string;
  /** The select list, of the alias `r`. */
  readonly columns: Columns<R>;
  /** The fields that are stored; each column has the name of its field in snake case. */
  readonly fields: readonly F[];
  readonly order: Sql;
  /** Maximum number of rows of an account. */
  readonly max: number;
  /** The messages of 409: when there are `max` rows, and when another row has the unique fields. */
  readonly full: string;
  readonly taken: string;
  /** The subject in the audit log; its actions are `add`, `change` and `remove`. */
  readonly audit: string;
  /** The fields that the audit log shows. */
  readonly detail: (row: R) => Readonly<Record<string, unknown>>;
};

/**
 * Creates the operations of a small list of an account, such as its labels, from its description: each change is
 * recorded in the audit log. Call the changes in a transaction. An id of another account is like an unknown one.
 */
export function collection<R extends { readonly id: number }, F extends keyof R & string>({
  columns,
  fields,
  ...list
}: Description<R, F>) {
  const table = raw(list.table);
  const names = fields.map((field) => raw(snakeCase(field)));
  const valuesOf = (input: Pick<R, F>): Sql[] => fields.map((field) => sql`${input[field]}`);
  const isAt = (accountId: number, id: number): Sql => sql`r.account_id = ${accountId} AND r.id = ${id}`;
  const isTaken = (): AppError => new AppError('conflict', { message: list.taken });

  async function recorded(tx: Db, author: Author, verb: string, row: R | undefined): Promise<R> {
    if (!row) throw new AppError('not_found');
    const event = { action: `${list.audit}.${verb}`, subject: `${list.audit}:${row.id}`, detail: list.detail(row) };
    await recordAudit(tx, author, event);
    return row;
  }

  const count = (db: Db, { accountId }: Of): Promise<number> =>
    countRows(db, sql`FROM ${table} r WHERE r.account_id = ${accountId}`);

  return {
    max: list.max,
    count,
    /** Lists the rows of an account in their order; all of them without `page`. */
    list: (db: Db, { accountId }: Of, page: Paging = { limit: list.max, offset: 0 }): Promise<R[]> =>
      many(
        db,
        sql`SELECT ${columns} FROM ${table} r WHERE r.account_id = ${accountId}
            ORDER BY ${list.order} LIMIT ${page.limit} OFFSET ${page.offset}`,
      ),
    /** Adds a row. Errors: 409 when the account has `max` rows, or one with the same unique fields. */
    async add(tx: Db, author: Author, input: Pick<R, F>): Promise<R> {
      const { accountId } = author;
      if ((await count(tx, author)) >= list.max) throw new AppError('conflict', { message: list.full });
      const row = await maybeOne<R>(
        tx,
        sql`INSERT INTO ${table} AS r (account_id, ${join(names)}) VALUES (${accountId}, ${join(valuesOf(input))})
            ON CONFLICT DO NOTHING RETURNING ${columns}`,
      );
      if (!row) throw isTaken();
      return recorded(tx, author, 'add', row);
    },
    /**
     * Changes a row to what `change` returns for the present one, which is locked. Errors: 404, 409 for unique fields of
     * another row, and those of `change`.
     */
    async change(
      tx: Db,
      author: Author,
      { id }: { readonly id: number },
      change: (row: R) => Pick<R, F> | Promise<Pick<R, F>>,
    ): Promise<R> {
      const at = isAt(author.accountId, id);
      const before = await existing(
        maybeOne<R>(tx, sql`SELECT ${columns} FROM ${table} r WHERE ${at} FOR UPDATE OF r`),
      );
      const values = valuesOf(await change(before));
      const sets = names.map((name, n) => sql`${name} = ${values[n]}`);
      const row = await one<R>(tx, sql`UPDATE ${table} r SET ${join(sets)} WHERE ${at} RETURNING ${columns}`).catch(
        (cause: unknown) => {
          throw cause instanceof Error && 'code' in cause && cause.code === '23505' ? isTaken() : cause;
        },
      );
      return recorded(tx, author, 'change', row);
    },
    /** Deletes a row. Errors: 404. */
    async remove(tx: Db, author: Author, { id }: { readonly id: number }): Promise<void> {
      const at = isAt(author.accountId, id);
      await recorded(
        tx,
        author,
        'remove',
        await maybeOne<R>(tx, sql`DELETE FROM ${table} r WHERE ${at} RETURNING ${columns}`),
      );
    },
  };
}
