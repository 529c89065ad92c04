import { type Db, exec, maybeOne, one, type Sql, sql } from '../../platform/db/query.ts';

/**
 * What leaves after RETENTION_DAYS, table by table: the one place that deletes rows of all features, because what is
 * kept and for how long is one rule and should be read in one piece.
 */
type Old = { readonly before: Date; readonly limit: number };

/** Up to when messages of the usual validity were looked through: younger ones may still hold credit. */
export async function findLookedThrough(db: Db): Promise<Date> {
  return (await one<{ doneTo: Date }>(db, sql`SELECT done_to AS "doneTo" FROM expiry_progress`)).doneTo;
}

/** Whether a message with an id in [firstId, endId) waits in the queue, or for the end of a validity of its own. */
export async function hasWaitingMessage(
  db: Db,
  { firstId, endId }: { firstId: string; endId: string },
): Promise<boolean> {
  const within = sql`(SELECT FROM unnest(t.ids) AS id WHERE id >= ${firstId}::uuid AND id < ${endId}::uuid)`;
  const { waits } = await one<{ waits: boolean }>(
    db,
    sql`SELECT EXISTS (SELECT FROM dispatch_chunk t WHERE EXISTS ${within})
            OR EXISTS (SELECT FROM message_deadline t WHERE EXISTS ${within}) AS waits`,
  );
  return waits;
}

/** The clients' ids of messages that are gone. */
export const deleteClientIds = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM client_message_id WHERE (account_id, client_id) IN (
          SELECT account_id, client_id FROM client_message_id WHERE created_at < ${before} LIMIT ${limit})
        AND created_at < ${before}`,
  );

export const deleteInboundMessages = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM inbound_message WHERE (account_id, id) IN (
          SELECT account_id, id FROM inbound_message WHERE received_at < ${before} LIMIT ${limit})`,
  );

export const deleteInboxMessages = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM inbox_message WHERE (account_id, chat_id, id) IN (
          SELECT account_id, chat_id, id FROM inbox_message WHERE at < ${before} LIMIT ${limit})`,
  );

/** An account with conversations in which nothing was written since. */
export const findInactiveInbox = (
  db: Db,
  { before }: Pick<Old, 'before'>,
): Promise<{ accountId: number } | undefined> =>
  maybeOne(
    db,
    sql`SELECT i.account_id AS "accountId" FROM inbox i
        WHERE EXISTS (SELECT FROM conversation c WHERE c.account_id = i.account_id
                        AND c.archived IN (true, false) AND c.last_at < ${before})
        LIMIT 1`,
  );

/** Conversations of an account in which nothing was written since, with their counts. Hold its inbox first. */
export async function deleteConversations(
  db: Db,
  { accountId, before, limit }: Old & { accountId: number },
): Promise<number> {
  const { gone } = await one<{ gone: number }>(
    db,
    sql`WITH gone AS (
          DELETE FROM conversation WHERE account_id = ${accountId} AND chat_id IN (
            SELECT chat_id FROM conversation
            WHERE account_id = ${accountId} AND archived IN (true, false) AND last_at < ${before} LIMIT ${limit})
          RETURNING archived, channel, unread > 0 AS unread),
        counted AS (
          UPDATE inbox_count n SET conversations = n.conversations - g.conversations
          FROM (SELECT archived, channel, unread, count(*) AS conversations FROM gone GROUP BY 1, 2, 3) AS g
          WHERE n.account_id = ${accountId} AND n.archived = g.archived AND n.channel = g.channel
            AND n.unread = g.unread)
        SELECT count(*) AS gone FROM gone`,
  );
  return gone;
}

/** Events whose row in the log is gone will not be told any more. */
export const deleteRetries = (db: Db, { beforeId }: { beforeId: string }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM webhook_retry r WHERE r.id < ${beforeId} AND NOT EXISTS (
          SELECT FROM webhook_delivery d WHERE d.account_id = r.account_id AND d.id = r.id)`,
  );

/** Events that nobody came to tell. */
export const deleteOutbox = (db: Db, { beforeId }: { beforeId: string }): Promise<number> =>
  exec(db, sql`DELETE FROM webhook_outbox WHERE seed < ${beforeId}`);

export type OldCampaign = { readonly accountId: number; readonly campaignId: number };

/** A campaign that ended before and still has its recipients. */
export const findOldCampaign = (db: Db, { before }: Pick<Old, 'before'>): Promise<OldCampaign | undefined> =>
  maybeOne(
    db,
    sql`SELECT k.account_id AS "accountId", k.id AS "campaignId" FROM campaign k
        JOIN campaign_run r ON r.account_id = k.account_id AND r.campaign_id = k.id
        WHERE k.completed_at < ${before} AND r.recipients > coalesce((k.goal->>'unlisted')::bigint, 0) LIMIT 1`,
  );

export const deleteRecipients = (
  db: Db,
  { accountId, campaignId, limit }: OldCampaign & { readonly limit: number },
): Promise<number> =>
  exec(
    db,
    sql`WITH chosen AS (
          SELECT country, destination FROM campaign_recipient
          WHERE account_id = ${accountId} AND campaign_id = ${campaignId} LIMIT ${limit})
        DELETE FROM campaign_recipient r USING chosen
        WHERE r.account_id = ${accountId} AND r.campaign_id = ${campaignId}
          AND r.country = chosen.country AND r.destination = chosen.destination`,
  );

/**
 * How the recipients were reached, and the numbers that the client wrote; their list is told to be empty. The figures of
 * the campaign stay.
 */
export const deleteCampaignSteps = (db: Db, { accountId, campaignId }: OldCampaign): Promise<number> => {
  const own = sql`WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`;
  const gone = (table: Sql): Sql => sql`(DELETE FROM ${table} ${own})`;
  return exec(
    db,
    sql`WITH batches AS ${gone(sql`campaign_batch`)}, hops AS ${gone(sql`campaign_hop`)},
          lanes AS ${gone(sql`campaign_lane`)}
        UPDATE campaign k
        SET goal = coalesce(k.goal, '{}') || jsonb_build_object('unlisted', r.recipients), destinations = '{}',
            numbers = '{}', number_countries = '{}', number_channels = '{}'
        FROM campaign_run r
        WHERE k.account_id = ${accountId} AND k.id = ${campaignId}
          AND r.account_id = ${accountId} AND r.campaign_id = ${campaignId}`,
  );
};
