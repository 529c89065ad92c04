import type { Pool } from 'pg';
import type { Task } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import { dropDay, listEndedDays } from '../core/db/partitions.ts';
import { as, columns, type Db, exec, maybeOne, one, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { firstIdAt } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../core/time.ts';
import { FEED_DAYS, refreshFeeds } from '../webhooks/feed.ts';
import { claimInboxes } from '../inbox/store.ts';
import { findExpiryProgress } from '../messages/expiry.ts';
import { deleteOldWeeks } from '../messages/weekly-cap.ts';
import { deleteFreeMessages } from '../money/free-allowance.ts';
import { endStickyPools } from '../routing/sender-rules.ts';
import { deleteOldDecisions, deleteOldNumbers, deleteOldVerifications } from '../verify/store.ts';

const ROWS_PER_BATCH = 5000;

type Deps = { readonly pool: Pool; readonly log: Log; readonly now: () => Date };

/**
 * Deletes data older than `days`. Messages, their states, parts and events, and the log of webhooks go with the
 * partitions of their day; the feed of events goes after seven days at the latest. Their data in other tables, inbound messages, verifications, the recipients of campaigns, the pool numbers
 * kept for recipients, and resolved alerts are deleted in batches. The audit log, the ledger, the figures, contacts,
 * consent, and the content that users edit are kept.
 *
 * A day is kept as long as one of its messages is scheduled for later or may still hold credit.
 *
 * @returns the wait until the next run in ms; 0 when there is more to do
 */
export async function deleteOldData(deps: Deps, { days }: { days: number }): Promise<number> {
  const before = new Date(deps.now().getTime() - days * DAY_MS);
  const dropped = (await dropOldDays(deps, before)) && (await dropOldFeed(deps));
  const deleted = await deleteBatch(deps.pool, before);
  if (deleted > 0) return 0;
  return dropped ? HOUR_MS : 10 * SECOND_MS;
}

/** Returns false when a day is being read, so that dropping it has to be tried again. */
async function dropOldDays({ pool, log }: Deps, before: Date): Promise<boolean> {
  // Younger messages may still hold credit.
  const checkedTo = await findExpiryProgress(pool);
  const ended = await listEndedDays(pool, checkedTo < before ? checkedTo : before);
  for (const day of ended) {
    const ids = { firstId: firstIdAt(day), endId: firstIdAt(new Date(day.getTime() + DAY_MS)) };
    if (await hasWaitingMessage(pool, ids)) continue;
    if (!(await dropDay(pool, day))) return false;
    log.info(
      { partition: day.toISOString().slice(0, 10) },
      'a day of messages was deleted at the end of its retention',
    );
  }
  return true;
}

/** Drops days of the feeds, after the readers of quiet ones can move on. Returns false when a day is being read. */
async function dropOldFeed({ pool, now }: Deps): Promise<boolean> {
  const before = new Date(now().getTime() - FEED_DAYS * DAY_MS);
  await refreshFeeds(pool, { before: new Date(now().getTime() - (FEED_DAYS / 2) * DAY_MS) });
  for (const day of await listEndedDays(pool, before, 'webhook_published'))
    if (!(await dropDay(pool, day, ['webhook_published']))) return false;
  return true;
}

/** Deletes a batch of each kind. Returns the number of rows. */
async function deleteBatch(pool: Pool, before: Date): Promise<number> {
  const old = { before, limit: ROWS_PER_BATCH };
  const beforeId = firstIdAt(before);
  const counts = [
    await deleteClientIds(pool, old),
    await deleteInboundMessages(pool, old),
    await deleteInboxMessages(pool, old),
    await deleteInboxNotes(pool, old),
    await deleteOldConversations(pool, old),
    await deleteOldRecipients(pool, old),
    await deleteOldStickySenders(pool, old),
    await deleteOldWeeks(pool),
    await deleteRetries(pool, { beforeId }),
    await deleteOutbox(pool, { beforeId }),
    await deleteBilling(pool, old),
    await deleteOldVerifications(pool, old),
    await deleteOldDecisions(pool, { beforeId, limit: ROWS_PER_BATCH }),
    await deleteOldNumbers(pool, old),
    await deleteFreeMessages(pool, old),
    await deleteLostChunks(pool, { beforeId }),
    await deleteAlerts(pool, old),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
}

type Batch = { readonly before: Date; readonly limit: number };

/** Deletes conversations of one account. A message that arrives in the meantime waits, and starts a new conversation. */
async function deleteOldConversations(pool: Pool, batch: Batch): Promise<number> {
  const inbox = await findInactiveInbox(pool, batch);
  if (!inbox) return 0;
  return transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [inbox.accountId] });
    return deleteConversations(tx, { ...inbox, ...batch });
  });
}

async function deleteOldRecipients(pool: Pool, { before, limit }: Batch): Promise<number> {
  const campaign = await findOldCampaign(pool, { before });
  if (!campaign) return 0;
  return (await deleteRecipients(pool, { ...campaign, limit })) || deleteCampaignSteps(pool, campaign);
}

async function deleteOldStickySenders(pool: Pool, batch: Batch): Promise<number> {
  const deleted = await deleteStickySenders(pool, batch);
  if (deleted > 0) await endStickyPools(pool);
  return deleted;
}

type RetentionDeps = {
  readonly pool: Pool;
  readonly config: Pick<Config, 'retentionDays'>;
  readonly now: () => Date;
  readonly log: Log;
};

export const retentionTasks = ({ config, ...deps }: RetentionDeps): Task[] => [
  { name: 'retention', pausable: true, work: () => deleteOldData(deps, { days: config.retentionDays }) },
];

// Statements that delete data after RETENTION_DAYS, table by table. Only this file deletes rows of all features: the
// retention rule should be readable in one place.

type Old = { readonly before: Date; readonly limit: number };

/** Returns true if a message with an id in [firstId, endId) is queued, or waits for its own deadline. */
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

export const deleteClientIds = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM client_message_id WHERE (account_id, client_id) IN (
          SELECT account_id, client_id FROM client_message_id WHERE created_at < ${before} LIMIT ${limit})
        AND created_at < ${before}`,
  );

/** Deletes the data about lost messages whose ids are all below `beforeId`. */
export const deleteLostChunks = (db: Db, { beforeId }: { beforeId: string }): Promise<number> =>
  exec(db, sql`DELETE FROM lost_chunk WHERE NOT EXISTS (SELECT FROM unnest(ids) AS id WHERE id >= ${beforeId}::uuid)`);

/** Deletes alerts that were resolved long ago. */
const deleteAlerts = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM alert WHERE id IN (
          SELECT id FROM alert WHERE state = 'resolved' AND resolved_at < ${before} LIMIT ${limit})`,
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

const deleteInboxNotes = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM inbox_note WHERE (account_id, chat_id, id) IN (
          SELECT account_id, chat_id, id FROM inbox_note WHERE created_at < ${before} LIMIT ${limit})`,
  );

/** Finds an account with conversations that have no message since `before`. */
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

/** Deletes conversations of an account that have no message since `before`. The caller has claimed the account's inbox. */
export const deleteConversations = (
  db: Db,
  { accountId, before, limit }: Old & { accountId: number },
): Promise<number> =>
  deleteChats(db, {
    accountId,
    chats: sql`SELECT chat_id FROM conversation
               WHERE account_id = ${accountId} AND archived IN (true, false) AND last_at < ${before} LIMIT ${limit}`,
  });

/**
 * Deletes conversations of an account with their notes and labels, and updates the counts of the inbox, which the caller
 * has claimed.
 *
 * @param chats the query for their ids
 */
export async function deleteChats(
  db: Db,
  { accountId, chats }: { readonly accountId: number; readonly chats: Sql },
): Promise<number> {
  const { gone } = await one<{ gone: number }>(
    db,
    sql`WITH gone AS (
          DELETE FROM conversation WHERE account_id = ${accountId} AND chat_id IN (${chats})
          RETURNING chat_id, archived, channel, unread > 0 AS unread),
        noted AS (
          DELETE FROM inbox_note WHERE account_id = ${accountId} AND chat_id IN (SELECT chat_id FROM gone)),
        labelled AS (
          DELETE FROM conversation_label WHERE account_id = ${accountId} AND chat_id IN (SELECT chat_id FROM gone)),
        counted AS (
          UPDATE inbox_count n SET conversations = n.conversations - g.conversations
          FROM (SELECT archived, channel, unread, count(*) AS conversations FROM gone GROUP BY 1, 2, 3) AS g
          WHERE n.account_id = ${accountId} AND n.archived = g.archived AND n.channel = g.channel
            AND n.unread = g.unread)
        SELECT count(*) AS gone FROM gone`,
  );
  return gone;
}

/** Deletes the pool numbers kept for recipients who were not written to from them since `before`. */
export const deleteStickySenders = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM sticky_sender WHERE (account_id, pool, destination) IN (
          SELECT account_id, pool, destination FROM sticky_sender WHERE used_at < ${before} LIMIT ${limit})
        AND used_at < ${before}`,
  );

/** Deletes retries of events that are not in the log any more, and of endpoints that were deleted while one was tried. */
export const deleteRetries = (db: Db, { beforeId }: { beforeId: string }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM webhook_retry r WHERE r.id < ${beforeId} AND NOT EXISTS (
          SELECT FROM webhook_delivery d
          WHERE d.account_id = r.account_id AND d.id = r.id AND d.endpoint = r.endpoint)
        OR r.endpoint > 0 AND NOT EXISTS (
          SELECT FROM webhook_endpoint e WHERE e.account_id = r.account_id AND e.ref = r.endpoint)`,
  );

/** Deletes what networks have charged for messages. */
const deleteBilling = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM message_billing WHERE (account_id, message_id) IN (
          SELECT account_id, message_id FROM message_billing WHERE reported_at < ${before} LIMIT ${limit})`,
  );

/** Deletes events that were never sent. */
export const deleteOutbox = (db: Db, { beforeId }: { beforeId: string }): Promise<number> =>
  exec(db, sql`DELETE FROM webhook_outbox WHERE seed < ${beforeId}`);

const OLD_CAMPAIGN = columns({ accountId: as<number>('k.account_id'), campaignId: as<number>('k.id') });
export type OldCampaign = RowOf<typeof OLD_CAMPAIGN>;

/** Finds a campaign, of any account or of one, that ended before `before` and still has its recipients. */
export const findOldCampaign = (
  db: Db,
  { before, accountId = null }: Pick<Old, 'before'> & { readonly accountId?: number | null },
): Promise<OldCampaign | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${OLD_CAMPAIGN} FROM campaign k
        JOIN campaign_run r ON r.account_id = k.account_id AND r.campaign_id = k.id
        WHERE k.completed_at < ${before} AND k.account_id = coalesce(${accountId}, k.account_id)
          AND r.recipients > coalesce((k.audience->>'unlisted')::bigint, 0) LIMIT 1`,
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
 * Deletes the delivery records of a campaign's recipients, and the numbers that the client gave, and notes in the audience
 * that the recipients are not listed any more. The figures of the campaign stay.
 */
export const deleteCampaignSteps = (db: Db, { accountId, campaignId }: OldCampaign): Promise<number> => {
  const own = sql`WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`;
  const gone = (table: Sql): Sql => sql`(DELETE FROM ${table} ${own})`;
  return exec(
    db,
    sql`WITH batches AS ${gone(sql`campaign_batch`)}, fallbacks AS ${gone(sql`campaign_fallback`)},
          lanes AS ${gone(sql`campaign_lane`)}
        UPDATE campaign k
        SET audience = coalesce(k.audience, '{}') || jsonb_build_object('unlisted', r.recipients), destinations = '{}',
            numbers = '{}', number_countries = '{}', number_channels = '{}'
        FROM campaign_run r
        WHERE k.account_id = ${accountId} AND k.id = ${campaignId}
          AND r.account_id = ${accountId} AND r.campaign_id = ${campaignId}`,
  );
};
