import { plainArray } from '../../../platform/db/array.ts';
import { type Db, exec, many, one, sql } from '../../../platform/db/query.ts';

type CampaignKey = { readonly campaignId: number };

/** True if message `m` of chunk `c` was not withdrawn. */
const STAYS = sql`(c.withdrawn IS NULL OR m.id <> ALL (c.withdrawn))`;

/**
 * Counts the messages of a campaign that wait in unclaimed chunks, and those in claimed chunks that are not written
 * yet; without withdrawn ones. Pending responses may still return messages to the queue.
 */
export async function countCampaignChunks(
  db: Db,
  { campaignId }: CampaignKey,
): Promise<{ waiting: number; owned: number }> {
  return one(
    db,
    sql`SELECT count(*) FILTER (WHERE c.owner IS NULL) AS waiting, count(*) FILTER (WHERE c.owner IS NOT NULL) AS owned
        FROM dispatch_chunk c CROSS JOIN unnest(c.ids[c.intent + 1:]) AS m (id)
        WHERE c.campaign_id = ${campaignId} AND ${STAYS}`,
  );
}

/**
 * Parks the chunks of a campaign: no worker claims them until `moveChunksFromParked`. Claimed chunks are parked as
 * well: their worker notices before it writes more of them, and returns them. Returns the number of chunks.
 */
export async function moveChunksToParked(db: Db, { campaignId }: CampaignKey): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk c SET parked_until = c.available_at, available_at = 'infinity'
        FROM (SELECT id FROM dispatch_chunk WHERE campaign_id = ${campaignId} AND parked_until IS NULL
              ORDER BY id FOR UPDATE) AS own
        WHERE c.id = own.id`,
  );
}

/** Makes the parked chunks of a campaign available again at their former time. Returns their number. */
export async function moveChunksFromParked(db: Db, { campaignId }: CampaignKey): Promise<number> {
  return exec(
    db,
    sql`UPDATE dispatch_chunk c SET available_at = c.parked_until, parked_until = NULL
        FROM (SELECT id FROM dispatch_chunk WHERE campaign_id = ${campaignId} AND parked_until IS NOT NULL
              ORDER BY id FOR UPDATE) AS own
        WHERE c.id = own.id`,
  );
}

/** Lists the connections at which messages of a campaign wait, so that their pumps can be woken. */
export async function listCampaignConnections(db: Db, { campaignId }: CampaignKey): Promise<number[]> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT DISTINCT connection_id AS id FROM dispatch_chunk WHERE campaign_id = ${campaignId} ORDER BY 1`,
  );
  return rows.map((row) => row.id);
}

/** Locks the oldest `limit` chunks of a campaign in which messages wait; returns their ids. */
export async function claimCampaignChunks(
  db: Db,
  { accountId, campaignId }: CampaignKey & { readonly accountId: number },
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

/** Marks all waiting messages of these locked chunks as withdrawn; returns the ids of the messages. */
export async function moveAllToWithdrawn(db: Db, { chunkIds }: { chunkIds: readonly number[] }): Promise<string[]> {
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
