import { type Db, exec, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

export type FieldType = 'text' | 'number' | 'boolean' | 'date';

const FIELD = columns({
  id: as<number>('id'),
  name: as<string>('name'),
  type: as<FieldType>('type'),
  description: as<string>('description'),
  createdAt: as<Date>('created_at'),
});

/** A custom field of an account's contacts. */
export type FieldRow = RowOf<typeof FIELD>;

/** Lists all custom fields of an account by name: at most a hundred. */
export const listFields = (db: Db, { accountId }: { accountId: number }): Promise<FieldRow[]> =>
  many(db, sql`SELECT ${FIELD} FROM custom_field WHERE account_id = ${accountId} ORDER BY lower(name)`);

/** Inserts a custom field. Returns undefined when the account has a field with this name, in upper or lower case. */
export const insertField = (
  db: Db,
  input: { accountId: number; name: string; type: FieldType; description: string },
): Promise<FieldRow | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO custom_field (account_id, name, type, description)
        VALUES (${input.accountId}, ${input.name}, ${input.type}, ${input.description})
        ON CONFLICT (account_id, lower(name)) DO NOTHING
        RETURNING ${FIELD}`,
  );

/** Changes the name and description of a custom field. */
export const updateField = (
  db: Db,
  input: { accountId: number; id: number; name: string; description: string },
): Promise<FieldRow> =>
  one(
    db,
    sql`UPDATE custom_field SET name = ${input.name}, description = ${input.description}
        WHERE account_id = ${input.accountId} AND id = ${input.id}
        RETURNING ${FIELD}`,
  );

/** Deletes a custom field. Its values stay in the contacts, hidden, until each contact is changed the next time. */
export const deleteField = (db: Db, { accountId, id }: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM custom_field WHERE account_id = ${accountId} AND id = ${id}`);
