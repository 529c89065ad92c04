import { plainArray } from '../../../platform/db/array.ts';
import { type Db, exec, many, one, sql } from '../../../platform/db/query.ts';

type OfCampaign = { readonly campaignId: number };

/** Whether a message `m` of a chunk `c` was not withdrawn. */
const STAYS = sql`(c.withdrawn IS NULL OR m.id <> ALL (c.withdrawn))`;

/**
 * How many messages of a campaign wait in chunks that nobody has claimed, and how many in claimed ones are not written
 * yet; withdrawn ones left out. Answers that are under way may still bring some back to be tried again.
 */
export async function countCampaignChunks(
  db: Db,
  { campaignId }: OfCampaign,
): Promise<{ waiting: number; owned: number }> {
  return one(
    db,
    sql`SELECT count(*) FILTER (WHERE c.owner IS NULL) AS waiting, count(*) FILTER (WHERE c.owner IS NOT NULL) AS owned
        FROM dispatch_chunk c CROSS JOIN unnest(c.ids[c.intent + 1:]) AS m (id)
        WHERE c.campaign_id = ${campaignId} AND ${STAYS}`,
  );
}

/**
 * Puts a campaign's chunks out of reach until `moveChunksFromParked`. Claimed ones as well: their worker learns of it
 * before it writes more of them, and gives them back. Answers how many chunks there were.
 */
export async function moveChunksToParked(db: Db, { campaignId }: OfCampaign): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk c SET parked_until = c.available_at, available_at = 'infinity'
        FROM (SELECT id FROM dispatch_chunk WHERE campaign_id = ${campaignId} AND parked_until IS NULL
              ORDER BY id FOR UPDATE) AS own
        WHERE c.id = own.id`,
  );
}

/** Puts the parked chunks of a campaign back to where they were. Answers how many there were. */
export async function moveChunksFromParked(db: Db, { campaignId }: OfCampaign): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk c SET available_at = c.parked_until, parked_until = NULL
        FROM (SELECT id FROM dispatch_chunk WHERE campaign_id = ${campaignId} AND parked_until IS NOT NULL
              ORDER BY id FOR UPDATE) AS own
        WHERE c.id = own.id`,
  );
}

/** The connections at which a campaign's messages wait: whoever makes them available wakes their pumps. */
export async function listConnectionsOf(db: Db, { campaignId }: OfCampaign): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT DISTINCT connection_id AS id FROM dispatch_chunk WHERE campaign_id = ${campaignId} ORDER BY 1`,
  );
  return rows.map((row) => row.id);
}

/** Locks the oldest chunks of a campaign in which messages wait, `limit` of them. */
export async function claimCampaignChunks(
  db: Db,
  { accountId, campaignId }: OfCampaign & { readonly accountId: number },
  limit: number,
): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT c.id FROM dispatch_chunk c
        WHERE c.campaign_id = ${campaignId} AND c.account_id = ${accountId}
          AND EXISTS (SELECT FROM unnest(c.ids[c.intent + 1:]) AS m (id) WHERE ${STAYS})
        ORDER BY c.id LIMIT ${limit} FOR UPDATE OF c`,
  );
  return rows.map((row) => row.id);
}

/** Marks all that wait in these locked chunks as withdrawn. Answers the ids. */
export async function moveAllWithdrawn(db: Db, { chunkIds }: { chunkIds: readonly number[] }): Promise<string[]> {
  const rows = await many<{ ids: string }>(
    db,
    sql`UPDATE dispatch_chunk d SET withdrawn = coalesce(d.withdrawn, '{}') || hit.ids
        FROM (SELECT c.id, array_agg(m.id) AS ids
              FROM dispatch_chunk c CROSS JOIN unnest(c.ids[c.intent + 1:]) AS m (id)
              WHERE c.id = ANY(${plainArray(chunkIds)}::bigint[]) AND ${STAYS}
              GROUP BY c.id) AS hit
        WHERE d.id = hit.id
        RETURNING array_to_string(hit.ids, ',') AS ids`,
  );
  return rows.flatMap((row) => row.ids.split(','));
}
