import { plainArray } from '../../../platform/db/array.ts';
import { bigint, rowsOf, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';

export type MessageKey = { readonly accountId: number; readonly id: string };

const keysOf = (keys: readonly MessageKey[]) =>
  rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) });

/** Locks the chunks that contain any of these messages, lowest id first; returns the ids of the chunks. */
export async function claimChunksHolding(db: Db, keys: readonly MessageKey[]): Promise<number[]> {
  const accountIds = [...new Set(keys.map((key) => key.accountId))];
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT c.id FROM dispatch_chunk c
        WHERE c.account_id = ANY(${plainArray(accountIds)}::bigint[]) AND EXISTS (
          SELECT FROM unnest(c.ids) AS m (id)
          JOIN ${keysOf(keys)} AS u ON u.id = m.id AND u.account_id = c.account_id)
        ORDER BY c.id FOR UPDATE OF c`,
  );
  return rows.map((row) => row.id);
}

/**
 * Marks messages as withdrawn in the locked chunks where they wait: behind the intent, so that no worker has written
 * them. Returns the ids of those messages.
 */
export async function moveToWithdrawn(
  db: Db,
  { chunkIds, keys }: { chunkIds: readonly number[]; keys: readonly MessageKey[] },
): Promise<Set<string>> {
  const rows = await many<{ ids: string }>(
    db,
    sql`UPDATE dispatch_chunk c SET withdrawn = coalesce(c.withdrawn, '{}') || hit.ids
        FROM (SELECT h.id, array_agg(m.id) AS ids
              FROM dispatch_chunk h CROSS JOIN unnest(h.ids[h.intent + 1:]) AS m (id)
              JOIN ${keysOf(keys)} AS u ON u.id = m.id AND u.account_id = h.account_id
              WHERE h.id = ANY(${plainArray(chunkIds)}::bigint[])
                AND (h.withdrawn IS NULL OR m.id <> ALL (h.withdrawn))
              GROUP BY h.id) AS hit
        WHERE c.id = hit.id
        RETURNING array_to_string(hit.ids, ',') AS ids`,
  );
  return new Set(rows.flatMap((row) => row.ids.split(',')));
}

/** Deletes those of the locked chunks that are unclaimed and contain only withdrawn messages. */
export async function deleteEmptyChunks(db: Db, { chunkIds }: { chunkIds: readonly number[] }): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM dispatch_chunk
        WHERE id = ANY(${plainArray(chunkIds)}::bigint[]) AND owner IS NULL
          AND cardinality(withdrawn) >= size AND ids <@ withdrawn`,
  );
}
