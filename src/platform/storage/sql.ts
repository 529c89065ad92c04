import { type Db, exec, many, sql } from '../db/query.ts';

type Files = { readonly accountId: number; readonly keys: readonly string[] };

/** These files are deleted after so long, unless `deleteRemovals` comes before. */
export const insertRemovals = (
  db: Db,
  { accountId, keys, afterSeconds }: Files & { readonly afterSeconds: number },
): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO file_removal (account_id, key, due_at)
      SELECT ${accountId}, key, now() + make_interval(secs => ${afterSeconds}) FROM unnest(${keys}::text[]) AS key
      ON CONFLICT (account_id, key) DO UPDATE SET due_at = excluded.due_at`,
  );

/** These files stay. Fewer than `keys` when some have been deleted meanwhile: then their rows must not be committed. */
export const deleteRemovals = (db: Db, { accountId, keys }: Files): Promise<number> =>
  exec(db, sql`DELETE FROM file_removal WHERE account_id = ${accountId} AND key = ANY (${keys}::text[])`);

export type Removal = { accountId: number; key: string };

/** Files of any account whose time has come; held until the transaction ends, by one worker each. */
export const claimRemovals = (db: Db, { limit }: { limit: number }): Promise<Removal[]> =>
  many(
    db,
    sql`DELETE FROM file_removal
      WHERE (account_id, key) IN
        (SELECT account_id, key FROM file_removal WHERE due_at <= now()
         ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
      RETURNING account_id AS "accountId", key`,
  );
