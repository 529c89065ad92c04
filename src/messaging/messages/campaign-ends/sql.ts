import { plainArray } from '../../../platform/db/array.ts';
import { bigint, rowsOf, text } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';
import { messagesByKey } from '../sql.ts';

/** NOTIFY channel that wakes workers for a campaign; the payload is its id, or empty for any. */
export const CAMPAIGNS_CHANNEL = 'heliograph_campaigns';

/** Messages of one campaign that reached their end, each with the code of its final state. */
export type CampaignEnds = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly messageIds: readonly string[];
  readonly statuses: readonly number[];
};

/**
 * Finds which campaigns are combined, each by one of its messages: all messages of a combined campaign keep their
 * reserve, because another channel may follow.
 */
export async function listCombined(
  db: Db,
  keys: readonly { readonly accountId: number; readonly id: string }[],
): Promise<Set<number>> {
  const rows = await many<{ campaignId: number }>(
    db,
    sql`SELECT m.campaign_id AS "campaignId" FROM ${messagesByKey(keys)} WHERE m.keeps_reserve`,
  );
  return new Set(rows.map(({ campaignId }) => campaignId));
}

/** Records ends of messages for their campaigns; workers are woken when the transaction commits. */
export async function insertCampaignEnds(db: Db, rows: readonly CampaignEnds[]): Promise<void> {
  await exec(
    db,
    sql`WITH written AS (
          INSERT INTO campaign_outcome (account_id, campaign_id, message_ids, statuses)
          SELECT u.account_id, u.campaign_id, u.message_ids::uuid[], u.statuses::smallint[] FROM ${rowsOf(rows, {
            account_id: bigint((r) => r.accountId),
            campaign_id: bigint((r) => r.campaignId),
            message_ids: text((r) => plainArray(r.messageIds)),
            statuses: text((r) => plainArray(r.statuses)),
          })} AS u
          RETURNING campaign_id)
        SELECT pg_notify(${CAMPAIGNS_CHANNEL}, campaign_id::text) FROM written`,
  );
}

/** Takes the oldest ends of a campaign that are due, at most `limit` rows; they are gone when the transaction commits. */
export async function deleteCampaignEnds(
  db: Db,
  { accountId, campaignId }: { accountId: number; campaignId: number },
  limit: number,
): Promise<{ messageIds: string[]; statuses: number[] }[]> {
  const rows = await many<{ ids: string; statuses: string }>(
    db,
    sql`DELETE FROM campaign_outcome WHERE id IN (
          SELECT id FROM campaign_outcome WHERE campaign_id = ${campaignId} AND account_id = ${accountId} AND due_at <= now()
          ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING array_to_string(message_ids, ',') AS ids, array_to_string(statuses, ',') AS statuses`,
  );
  return rows.map(({ ids, statuses }) => ({ messageIds: ids.split(','), statuses: statuses.split(',').map(Number) }));
}

/** Lists the campaigns that have ends which no worker has processed. */
export async function listCampaignsWithEnds(db: Db): Promise<{ accountId: number; campaignId: number }[]> {
  return many(
    db,
    sql`SELECT DISTINCT account_id AS "accountId", campaign_id AS "campaignId" FROM campaign_outcome ORDER BY 2`,
  );
}
