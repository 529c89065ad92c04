import type { StoredResult } from '../answer.ts';
import { type Db, exec, maybeOne, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

/** A bulk request to which its client gave an id. */
export type BulkRequest = { readonly accountId: number; readonly globalId: string; readonly bodyHash: Uint8Array };

/**
 * Claims the id for 24 hours; returns 0 when it is in use. Of two concurrent transactions the second waits for the
 * first, and gets the id when that one is rolled back.
 */
export async function insertBulkRequest(db: Db, request: BulkRequest): Promise<number> {
  return exec(
    db,
    sql`INSERT INTO bulk_request AS r (account_id, global_id, body_hash)
        VALUES (${request.accountId}, ${request.globalId}, ${request.bodyHash})
        ON CONFLICT (account_id, global_id) DO UPDATE
          SET body_hash = excluded.body_hash, results = NULL, created_at = excluded.created_at
          WHERE r.created_at < now() - interval '24 hours'`,
  );
}

/** Stores the response. Call it in the transaction that claimed the id. */
export async function updateBulkResults(
  db: Db,
  request: { accountId: number; globalId: string; results: readonly StoredResult[] },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE bulk_request SET results = ${JSON.stringify(request.results)}::json
        WHERE account_id = ${request.accountId} AND global_id = ${request.globalId}`,
  );
}

const STORED_BULK_REQUEST = columns({
  bodyHash: as<Buffer>('body_hash'),
  results: as<StoredResult[]>('results'),
});

/** Finds the response to a request with this id within the last 24 hours. */
export const findBulkRequest = (
  db: Db,
  { accountId, globalId }: { accountId: number; globalId: string },
): Promise<RowOf<typeof STORED_BULK_REQUEST> | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${STORED_BULK_REQUEST} FROM bulk_request
        WHERE account_id = ${accountId} AND global_id = ${globalId} AND created_at >= now() - interval '24 hours'`,
  );

/** Deletes responses that are older than 24 hours. Returns how many there were. */
export async function deleteOldBulkRequests(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM bulk_request WHERE created_at < now() - interval '24 hours'`);
}
