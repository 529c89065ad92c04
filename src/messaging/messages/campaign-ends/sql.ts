import { plainArray } from '../../../platform/db/array.ts';
import { bigint, input, insertRows, text } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
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
          ${insertRows(
            'campaign_outcome',
            rows.map((row) => ({
              ...row,
              messageIds: plainArray(row.messageIds),
              statuses: plainArray(row.statuses),
            })),
            { accountId: bigint, campaignId: bigint, messageIds: input(text), statuses: input(text) },
            { message_ids: sql`u.message_ids::uuid[]`, statuses: sql`u.statuses::smallint[]` },
          )}
          RETURNING campaign_id)
        SELECT pg_notify(${CAMPAIGNS_CHANNEL}, campaign_id::text) FROM written`,
  );
}

/**
 * Takes the oldest ends of a campaign that are due, at most `limit` rows; they are gone when the transaction commits.
 */
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

const CAMPAIGN_WITH_ENDS = columns({ accountId: as<number>('account_id'), campaignId: as<number>('campaign_id') });

/** Lists the campaigns that have ends which no worker has processed. */
export const listCampaignsWithEnds = (db: Db): Promise<RowOf<typeof CAMPAIGN_WITH_ENDS>[]> =>
  many(db, sql`SELECT DISTINCT ${CAMPAIGN_WITH_ENDS} FROM campaign_outcome ORDER BY 2`);
