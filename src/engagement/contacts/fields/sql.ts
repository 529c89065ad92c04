import { type Db, exec, many, maybeOne, one, sql } from '../../../platform/db/query.ts';

export type FieldType = 'text' | 'number' | 'boolean' | 'date';
/** A custom field of an account's contacts. */
export type FieldRow = { id: number; name: string; type: FieldType; description: string; createdAt: Date };

const COLUMNS = sql`id, name, type, description, created_at AS "createdAt"`;

/** All of an account, by name: at most a hundred. */
export const listFields = (db: Db, { accountId }: { accountId: number }): Promise<FieldRow[]> =>
  many(db, sql`SELECT ${COLUMNS} FROM custom_field WHERE account_id = ${accountId} ORDER BY lower(name)`);

/** Undefined when the account has a field of this name, in whatever case. */
export const insertField = (
  db: Db,
  input: { accountId: number; name: string; type: FieldType; description: string },
): Promise<FieldRow | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO custom_field (account_id, name, type, description)
        VALUES (${input.accountId}, ${input.name}, ${input.type}, ${input.description})
        ON CONFLICT (account_id, lower(name)) DO NOTHING
        RETURNING ${COLUMNS}`,
  );

/** Another name or description. */
export const updateField = (
  db: Db,
  input: { accountId: number; id: number; name: string; description: string },
): Promise<FieldRow> =>
  one(
    db,
    sql`UPDATE custom_field SET name = ${input.name}, description = ${input.description}
        WHERE account_id = ${input.accountId} AND id = ${input.id}
        RETURNING ${COLUMNS}`,
  );

/** The values stay in the contacts, where nothing shows them any more; a contact drops them when it is next changed. */
export const deleteField = (db: Db, { accountId, id }: { accountId: number; id: number }): Promise<number> =>
  exec(db, sql`DELETE FROM custom_field WHERE account_id = ${accountId} AND id = ${id}`);
