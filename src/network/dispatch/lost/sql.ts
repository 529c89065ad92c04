import { plainArray } from '../../../platform/db/array.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

/** Keeps the ids of messages of a claimed chunk that were not found, which then leave the queue. */
export async function insertLost(
  db: Db,
  { owner, id, ids }: { owner: number; id: number; ids: readonly string[] },
): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO lost_chunk (account_id, connection_id, campaign_id, priority, attempt, available_at, ids)
        SELECT account_id, connection_id, campaign_id, priority, attempt, available_at, ${plainArray(ids)}::uuid[]
        FROM dispatch_chunk WHERE id = ${id} AND owner = ${owner}`,
  );
}

const LOST_COUNT = columns({
  connectionId: as<number>('connection_id'),
  messages: as<number>('sum(cardinality(ids))::bigint'),
});

/** Counts the messages of each connection that were in the queue and not found. */
export const countLost = (db: Db): Promise<RowOf<typeof LOST_COUNT>[]> =>
  many(db, sql`SELECT ${LOST_COUNT} FROM lost_chunk GROUP BY connection_id`);
