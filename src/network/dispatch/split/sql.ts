import { endsOf, int, rowsOf, uuids } from '../../../platform/db/columns.ts';
import { type Db, many, sql } from '../../../platform/db/query.ts';
import { COPIED_COLUMNS } from '../sql.ts';

/**
 * Divides a claimed, unwritten chunk: it keeps the messages of the first list, and each other list becomes a chunk of
 * the same owner, in the turn of its place. Returns the ids of the chunks in the order of the lists; none when the
 * chunk no longer belongs to this worker.
 */
export async function splitChunk(
  db: Db,
  { owner, id, lists }: { owner: number; id: number; lists: readonly (readonly string[])[] },
): Promise<number[]> {
  const ends = endsOf(lists);
  const rows = lists.map((list, n) => ({ n, size: list.length, last: ends[n] ?? 0 }));
  const found = await many<{ id: number; n: number }>(
    db,
    sql`WITH lists AS MATERIALIZED (
          SELECT u.n, u.size, u.last - u.size AS before, (${uuids(lists)})[u.last - u.size + 1:u.last] AS own
          FROM ${rowsOf(rows, { n: int((r) => r.n), size: int((r) => r.size), last: int((r) => r.last) })} AS u),
        kept AS (
          UPDATE dispatch_chunk c SET ids = l.own, size = l.size
          FROM lists l WHERE l.n = 0 AND c.id = ${id} AND c.owner = ${owner} AND c.intent = 0 RETURNING c.*),
        made AS (
          INSERT INTO dispatch_chunk (${COPIED_COLUMNS}, owner, round, size, ids)
          SELECT ${COPIED_COLUMNS}, kept.owner, kept.round + l.before, l.size, l.own
          FROM kept CROSS JOIN (SELECT n, size AS size, before, own FROM lists WHERE n > 0) AS l
          RETURNING id, ids[1] AS first)
        SELECT id, 0 AS n FROM kept
        UNION ALL SELECT m.id, l.n FROM made m JOIN lists l ON l.own[1] = m.first
        ORDER BY n`,
  );
  return found.map((row) => row.id);
}
