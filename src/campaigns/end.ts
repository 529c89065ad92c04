import type { Pool } from 'pg';
import { type Db, exec, maybeOne, one, type Sql, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { MINUTE_MS } from '../core/time.ts';
import { countCampaignChunks } from '../dispatch/store.ts';
import { withdrawCampaign } from '../messages/cancellation.ts';
import { chainOf, isCombined } from './audience.ts';
import { checkTemplates, type TemplateFault } from './campaign.ts';
import { moveCountriesToDone } from './production-store.ts';
import * as run from './run.ts';
import { freezeMore, type Job, NOTHING_TO_DO, returnReserve, type Step, updateRunCounters } from './run.ts';
import type { Settings } from './store.ts';

type Confirmed = {
  readonly accountId: number;
  readonly id: number;
  readonly settings: Parameters<typeof checkTemplates>[1]['settings'] & Pick<Settings, 'sendingMode'>;
};

/**
 * Lists the faults of the templates of a confirmed campaign, as far as they are still to be sent. The template of the
 * first channel does not count once all its messages have been submitted to carriers, so that the campaign can
 * complete.
 */
export async function listTemplateFaults(db: Db, { accountId, id, settings }: Confirmed): Promise<TemplateFault[]> {
  const faults = await checkTemplates(db, { accountId, settings });
  const [first] = chainOf(settings.sendingMode);
  if (faults.some(({ channel }) => channel !== first)) return faults;
  return faults.length > 0 && (await hasMessagesToSend(db, { accountId, campaignId: id })) ? faults : [];
}

async function hasMessagesToSend(db: Db, job: { accountId: number; campaignId: number }): Promise<boolean> {
  if (await hasPendingRecipients(db, job)) return true;
  const { waiting, owned } = await countCampaignChunks(db, job);
  return waiting + owned > 0;
}

const MESSAGES_PER_STEP = 2000;
/** The wait until workers have released the messages that they have claimed. */
const RETRY_MS = 100;

/**
 * Withdraws the waiting messages of a campaign that sends nothing more, in batches. Messages that a carrier already has
 * are not affected.
 */
export async function withdrawMessages({ tx, job, campaign }: Step): Promise<number> {
  const taking = { ...job, by: 'the cancellation of its campaign', now: campaign.now };
  const { withdrawn, ended, more } = await withdrawCampaign(tx, taking, MESSAGES_PER_STEP);
  // In combined modes their recipients are counted with the ends of the messages (`campaigns/fallback.ts`).
  if (ended > 0 && !isCombined(campaign.sendingMode)) await updateRunCounters(tx, job, { withdrawn: ended });
  if (withdrawn > 0) return 0;
  return more ? RETRY_MS : NOTHING_TO_DO;
}

/**
 * Closes the recipients without a message, once all recipients of a campaign that sends nothing more are created: they
 * count as cancelled, or as skipped if the account was suspended. Their cost need not stay reserved.
 */
export async function closeRecipients({ tx, job, campaign }: Step): Promise<number> {
  if (!campaign.expanded || !(await hasPendingRecipients(tx, job))) return NOTHING_TO_DO;
  await moveCountriesToDone(tx, job);
  await (campaign.cancelled ? updateUnmadeCount : updateSkippedCount)(tx, job);
  const { unusedMicros } = campaign;
  if (isCombined(campaign.sendingMode))
    await updateRunCounters(tx, job, { unusedMicros: -unusedMicros, spareMicros: unusedMicros });
  return 0;
}

const RECIPIENTS_PER_STATEMENT = 10_000;

/** Deletes the rows of a campaign that was deleted before it started: a million rows are too many for the request. */
export async function cleanUpDeleted(pool: Pool, job: Job): Promise<void> {
  for (;;) {
    const deleted = await deleteRecipients(pool, job, { limit: RECIPIENTS_PER_STATEMENT });
    if (deleted < RECIPIENTS_PER_STATEMENT) break;
  }
  await transaction(pool, (tx) => deleteRun(tx, job));
}

/** Returns true if messages are still to be created for some recipients. */
async function hasPendingRecipients(db: Db, { accountId, campaignId }: Job): Promise<boolean> {
  const row = await maybeOne(
    db,
    sql`SELECT FROM campaign_run r
        WHERE r.account_id = ${accountId} AND r.campaign_id = ${campaignId} AND (NOT r.expanded OR EXISTS (
          SELECT FROM campaign_lane l
          WHERE l.account_id = ${accountId} AND l.campaign_id = ${campaignId} AND NOT l.done))`,
  );
  return row !== undefined;
}

/** Returns the age in ms of the last messages of a campaign; 0 when there are none. */
async function findMsSinceLastBatch(db: Db, { accountId, campaignId }: Job): Promise<number> {
  const { ms } = await one<{ ms: number }>(
    db,
    sql`SELECT coalesce(extract(epoch FROM now() - (
          SELECT created_at FROM campaign_batch WHERE account_id = ${accountId} AND campaign_id = ${campaignId}
          ORDER BY id DESC LIMIT 1)) * 1000, 0)::float8 AS ms`,
  );
  return ms;
}

/**
 * Returns true if any message of a campaign was submitted to a carrier. Stops at the first such message, which comes
 * soon if any messages were delivered.
 */
async function wasSubmitted(db: Db, { accountId, campaignId }: Job): Promise<boolean> {
  const { any } = await one<{ any: boolean }>(
    db,
    sql`SELECT EXISTS (
          SELECT FROM campaign_batch b CROSS JOIN unnest(b.message_ids) AS m (id)
          JOIN message_state s ON s.account_id = b.account_id AND s.id = m.id
          WHERE b.account_id = ${accountId} AND b.campaign_id = ${campaignId} AND s.submitted_at IS NOT NULL) AS any`,
  );
  return any;
}

/**
 * Finds the reason why nothing was sent: the error of the last message, or else the reason why a recipient was skipped.
 */
async function findObstacle(db: Db, { accountId, campaignId }: Job): Promise<string | null> {
  const { reason } = await one<{ reason: string | null }>(
    db,
    sql`SELECT coalesce(
          (SELECT s.error_text FROM (
             SELECT message_ids[1] AS id FROM campaign_batch
             WHERE account_id = ${accountId} AND campaign_id = ${campaignId} ORDER BY id DESC LIMIT 1) AS b
           JOIN message_state s ON s.account_id = ${accountId} AND s.id = b.id),
          (SELECT skip_reason FROM campaign_recipient
           WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND skip_reason IS NOT NULL LIMIT 1)) AS reason`,
  );
  return reason;
}

/** Counts the recipients `r` of a run that have a message: all messages of a recipient but the first are fallbacks. */
const madeSql = ({ accountId, campaignId }: Job): Sql => sql`(r.messages - (
  SELECT count(*) FROM campaign_fallback h WHERE h.account_id = ${accountId} AND h.campaign_id = ${campaignId}))`;

/** Counts the recipients without a message as skipped, because they will get none. */
async function updateSkippedCount(db: Db, job: Job): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_run r SET skipped = r.recipients - ${madeSql(job)}
        WHERE r.account_id = ${job.accountId} AND r.campaign_id = ${job.campaignId}`,
  );
}

/** Counts the recipients who are not skipped and have no message: they will get none. */
async function updateUnmadeCount(db: Db, job: Job): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_run r SET unmade = r.recipients - r.skipped - ${madeSql(job)}
        WHERE r.account_id = ${job.accountId} AND r.campaign_id = ${job.campaignId}`,
  );
}

/** Deletes up to `limit` recipients of a campaign that was deleted before it started. Returns their number. */
export async function deleteRecipients(
  db: Db,
  { accountId, campaignId }: Job,
  { limit }: { limit: number },
): Promise<number> {
  const own = sql`account_id = ${accountId} AND campaign_id = ${campaignId}`;
  return exec(
    db,
    sql`DELETE FROM campaign_recipient WHERE ${own} AND (country, destination) <= (
          SELECT country, destination
          FROM (SELECT country, destination FROM campaign_recipient WHERE ${own}
                ORDER BY country, destination LIMIT ${limit}) AS u
          ORDER BY country DESC, destination DESC LIMIT 1)`,
  );
}

export async function deleteRun(db: Db, { accountId, campaignId }: Job): Promise<void> {
  await exec(
    db,
    sql`WITH lanes AS (DELETE FROM campaign_lane WHERE account_id = ${accountId} AND campaign_id = ${campaignId}),
        run AS (DELETE FROM campaign_run WHERE account_id = ${accountId} AND campaign_id = ${campaignId})
        DELETE FROM campaign_job WHERE campaign_id = ${campaignId}`,
  );
}

/**
 * Interval at which receipts are checked: often at first, and less often the longer ago the last messages were created.
 */
const MIN_POLL_MS = 500;
const MAX_POLL_MS = MINUTE_MS;
const POLL_SHARE = 1 / 10;

const NOTHING_SENT = 'Nothing could be sent';
export const SUSPENDED = 'The account is suspended';

/**
 * Ends a campaign when every recipient has a final result: by the hourly figures in single modes, by the counted
 * results in combined modes, in which a recipient may have several messages. The part of the reserve that is not needed
 * is returned; the prices of messages that may still be delivered stay reserved.
 */
export async function complete({ tx, job, campaign }: Step): Promise<number> {
  if (await hasPendingRecipients(tx, job)) return NOTHING_TO_DO;
  const traffic = await run.findTraffic(tx, job);
  const sent = campaign.recipients - campaign.skipped - campaign.unmade;
  const over = isCombined(campaign.sendingMode) ? campaign.ended >= sent : traffic.final >= campaign.messages;
  if (!over) return nextPollMs(tx, job);
  await run.moveToEnded(tx, job, { reason: await failureOf({ tx, job, campaign }, traffic) });
  const unneededMicros = campaign.unusedMicros + campaign.spareMicros;
  await run.updateRunCounters(tx, job, { unusedMicros: -campaign.unusedMicros, spareMicros: campaign.unusedMicros });
  if (unneededMicros > 0) await returnReserve({ tx, job, campaign }, unneededMicros, 0);
  return 0;
}

type StepScope = Pick<Step, 'tx' | 'job' | 'campaign'>;

const nextPollMs = async (tx: Step['tx'], job: run.Job): Promise<number> =>
  Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, (await findMsSinceLastBatch(tx, job)) * POLL_SHARE));

/**
 * Returns the reason why a campaign failed: nothing of it was submitted to a carrier. Null when it did not fail; a
 * campaign that a person has cancelled did not.
 */
async function failureOf({ tx, job, campaign }: StepScope, { delivered }: run.Traffic): Promise<string | null> {
  if (campaign.cancelled || delivered > 0 || (await wasSubmitted(tx, job))) return null;
  if (campaign.suspended) return SUSPENDED;
  const obstacle = await findObstacle(tx, job);
  return obstacle === null ? NOTHING_SENT : `${NOTHING_SENT}: ${obstacle}`;
}

/**
 * Waits, after the end of a campaign, until all its messages are final. Then a combined campaign settles the rest of
 * its reserve, and nothing is left to do.
 */
export async function finish({ tx, job, campaign }: Step): Promise<number> {
  const traffic = await run.findTraffic(tx, job);
  if (traffic.final < campaign.messages) return nextPollMs(tx, job);
  if (isCombined(campaign.sendingMode) && !(await settleRest({ tx, job, campaign }, traffic))) return MAX_POLL_MS;
  await run.deleteJob(tx, job);
  return NOTHING_TO_DO;
}

/**
 * Returns the rest of the reserve of a combined campaign without open messages. If its messages have cost more, as
 * those delivered after their time can, the difference is frozen, so that the books of the account agree. Returns false
 * if the account does not have that credit yet.
 */
async function settleRest({ tx, job, campaign }: StepScope, { costMicros }: run.Traffic): Promise<boolean> {
  const restMicros = campaign.reservedMicros - costMicros;
  if (restMicros > 0) await returnReserve({ tx, job, campaign }, restMicros, 0);
  if (restMicros >= 0) return true;
  const addedMicros = await freezeMore({ tx, campaign }, -restMicros);
  await run.updateReserve(tx, job, { addedMicros, spareMicros: 0 });
  return addedMicros === -restMicros;
}
