import { type Db, exec, many, sql } from '../db/query.ts';
import { as, columns, type RowOf } from '../db/select.ts';

type Files = { readonly accountId: number; readonly keys: readonly string[] };

/** Schedules the deletion of files after `afterSeconds`, unless `deleteRemovals` cancels it before. */
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

/**
 * Cancels the scheduled deletion of files and returns how many it cancelled. If that is fewer than `keys`, some have
 * been deleted in the meantime, and the rows that refer to them must not be committed.
 */
export const deleteRemovals = (db: Db, { accountId, keys }: Files): Promise<number> =>
  exec(db, sql`DELETE FROM file_removal WHERE account_id = ${accountId} AND key = ANY (${keys}::text[])`);

const REMOVAL = columns({ accountId: as<number>('account_id'), key: as<string>('key') });
export type Removal = RowOf<typeof REMOVAL>;

/**
 * Claims due deletions of any account by removing their entries: each goes to one worker, and a rollback restores it.
 */
export const claimRemovals = (db: Db, { limit }: { limit: number }): Promise<Removal[]> =>
  many(
    db,
    sql`DELETE FROM file_removal
      WHERE (account_id, key) IN
        (SELECT account_id, key FROM file_removal WHERE due_at <= now()
         ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
      RETURNING ${REMOVAL}`,
  );
