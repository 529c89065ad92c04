import type { StoredResult } from '../answer.ts';
import { type Db, exec, maybeOne, sql } from '../../../platform/db/query.ts';

/** A bulk request that its client gave an id. */
export type BulkRequest = { readonly accountId: number; readonly globalId: string; readonly bodyHash: Uint8Array };

/**
 * Takes the id for 24 hours; answers 0 when it is in use. Of two transactions at once the second waits for the first,
 * and has the id when that one is rolled back.
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

/** Keeps the answer, in the transaction that took the id. */
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

/** What the request with this id was answered within the last 24 hours. */
export async function findBulkRequest(
  db: Db,
  { accountId, globalId }: { accountId: number; globalId: string },
): Promise<{ bodyHash: Buffer; results: StoredResult[] } | undefined> {
  return maybeOne(
    db,
    sql`SELECT body_hash AS "bodyHash", results FROM bulk_request
        WHERE account_id = ${accountId} AND global_id = ${globalId} AND created_at >= now() - interval '24 hours'`,
  );
}

/** Forgets answers that are older than that. */
export async function deleteOldBulkRequests(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM bulk_request WHERE created_at < now() - interval '24 hours'`);
}
