import { plainArray } from '../../../platform/db/array.ts';
import { bigint, rowsOf, text } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';

/** Told when a campaign has something to do; the payload is its id. */
export const CAMPAIGNS_CHANNEL = 'heliograph_campaigns';

/** Which of these campaigns are combined: they follow each message to its end. */
export async function listCombined(
  db: Db,
  keys: readonly { readonly accountId: number; readonly campaignId: number }[],
): Promise<Set<number>> {
  const rows = await many<{ id: number }>(
    db,
    sql`SELECT c.id FROM ${rowsOf(keys, {
      account_id: bigint((k) => k.accountId),
      id: bigint((k) => k.campaignId),
    })} AS u
        JOIN campaign c ON c.account_id = u.account_id AND c.id = u.id
        WHERE position('_' IN c.sending_mode) > 0`,
  );
  return new Set(rows.map((row) => row.id));
}

export type NewOutcomes = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly messageIds: readonly string[];
  readonly statuses: readonly number[];
};

/** Notes ends of messages for their campaigns and wakes those; when the transaction commits. */
export async function insertOutcomes(db: Db, rows: readonly NewOutcomes[]): Promise<void> {
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

/** Takes the oldest ends of a campaign's messages that are due, `limit` rows of them. Gone only when the caller's transaction commits. */
export async function deleteOutcomes(
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

/** The campaigns whose messages have ends that nobody has looked at. */
export async function listCampaignsWithOutcomes(db: Db): Promise<{ accountId: number; campaignId: number }[]> {
  return many(
    db,
    sql`SELECT DISTINCT account_id AS "accountId", campaign_id AS "campaignId" FROM campaign_outcome ORDER BY 2`,
  );
}
