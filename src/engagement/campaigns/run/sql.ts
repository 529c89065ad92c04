import { plainArray } from '../../../platform/db/array.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../../platform/db/query.ts';
import { MISSED_AFTER } from '../../../network/dispatch/sql.ts';
import type { PlanPrice } from '../audience/sql.ts';
import type { SendingMode } from '../mode.ts';
import { type Fallback, statusAllows, type QuietHours } from '../sql.ts';
import type { CampaignStatus } from '../states.ts';

export type Job = { accountId: number; campaignId: number };

/** Campaigns that are due, and those of `woken` whatever their time, the longest due first. */
export async function listDueJobs(
  db: Db,
  { woken, limit }: { woken: readonly number[]; limit: number },
): Promise<Job[]> {
  return many(
    db,
    sql`SELECT account_id AS "accountId", campaign_id AS "campaignId" FROM campaign_job
        WHERE due_at <= now() OR campaign_id = ANY(${plainArray(woken)}::bigint[])
        ORDER BY due_at, campaign_id LIMIT ${limit}`,
  );
}

/** When the next campaign is due, in ms from now; null when none waits. */
export async function findNextJobMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM campaign_job`,
  );
  return ms;
}

/** When to look at a campaign again; whoever changes it sooner moves this. */
export async function updateJobDue(
  db: Db,
  { campaignId, waitMs }: { campaignId: number; waitMs: number },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_job SET failures = 0, due_at = now() + ${waitMs} * interval '1 millisecond'
        WHERE campaign_id = ${campaignId}`,
  );
}

/** After a failure: later each time, up to five minutes. */
export async function updateFailedJob(db: Db, { campaignId }: { campaignId: number }): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_job SET failures = least(failures + 1, 10),
               due_at = now() + least(2 ^ failures, 300) * interval '1 second'
        WHERE campaign_id = ${campaignId}`,
  );
}

export async function deleteJob(db: Db, { campaignId }: { campaignId: number }): Promise<void> {
  await exec(db, sql`DELETE FROM campaign_job WHERE campaign_id = ${campaignId}`);
}

/** A campaign with its run, both locked. */
export type RunningCampaign = {
  accountId: number;
  id: number;
  /** The database's. */
  now: Date;
  status: CampaignStatus;
  sendingMode: SendingMode;
  smsSender: string | null;
  smsBody: string | null;
  rcsAgentId: string | null;
  rcsTemplateId: string | null;
  whatsappPhoneNumberId: string | null;
  whatsappTemplateId: string | null;
  destinationType: 1 | 2 | null;
  contactListIds: number[];
  /** In force since its confirmation. */
  prices: PlanPrice[];
  fallback: Fallback;
  /** The campaign's own, else those of its account. */
  quietHours: QuietHours | null;
  /** Recipients a second. */
  rate: number | null;
  reservedMicros: number;
  apiKeyId: number | null;
  userId: number | null;
  paused: boolean;
  cancelled: boolean;
  failureReason: string | null;
  /** Until its time; negative when that has passed, null when it has none. */
  startsInMs: number | null;
  missed: boolean;
  /** Since it was paused. */
  pausedMs: number | null;
  suspended: boolean;
  hasOptOuts: boolean;
  expandedTo: string | null;
  expanded: boolean;
  recipients: number;
  skipped: number;
  unusedMicros: number;
  allottedMicros: number;
  lateMicros: number;
  messages: number;
  ended: number;
  delivered: number;
};

/**
 * Locks a campaign and its run. Undefined when somebody else has one of them, and when the campaign is gone
 * (`isGone`).
 */
export async function claimRunningCampaign(
  db: Db,
  { accountId, campaignId }: Job,
): Promise<RunningCampaign | undefined> {
  return maybeOne(
    db,
    sql`SELECT c.account_id AS "accountId", c.id, now(), c.status, c.sending_mode AS "sendingMode", c.sms_sender AS "smsSender",
               c.sms_body AS "smsBody", c.rcs_agent_id AS "rcsAgentId", c.rcs_template_id AS "rcsTemplateId",
               c.whatsapp_phone_number_id AS "whatsappPhoneNumberId", c.whatsapp_template_id AS "whatsappTemplateId",
               c.destination_type AS "destinationType", c.contact_list_ids AS "contactListIds",
               coalesce(c.goal -> 'prices', '[]') AS prices, c.fallback, coalesce(c.quiet_hours, p.quiet_hours) AS "quietHours", c.rate,
               c.reserved_micros AS "reservedMicros", c.api_key_id AS "apiKeyId", c.user_id AS "userId",
               c.paused_at IS NOT NULL AS paused, c.cancelled_at IS NOT NULL AS cancelled,
               c.failure_reason AS "failureReason",
               (extract(epoch FROM c.scheduled_at - now()) * 1000)::float8 AS "startsInMs",
               coalesce(c.scheduled_at < now() - ${MISSED_AFTER}, false) AS missed,
               (extract(epoch FROM now() - c.paused_at) * 1000)::float8 AS "pausedMs",
               a.status <> 'active' AS suspended, a.has_opt_outs AS "hasOptOuts",
               r.expanded_to AS "expandedTo", r.expanded, r.recipients, r.skipped, r.unused_micros AS "unusedMicros",
               r.allotted_micros AS "allottedMicros", r.late_micros AS "lateMicros", r.messages, r.ended, r.delivered
        FROM campaign c
        JOIN campaign_run r ON r.account_id = c.account_id AND r.campaign_id = c.id
        JOIN account a ON a.id = c.account_id
        LEFT JOIN campaign_policy p ON p.account_id = c.account_id
        WHERE c.account_id = ${accountId} AND c.id = ${campaignId}
        FOR NO KEY UPDATE OF c, r SKIP LOCKED`,
  );
}

/** Whether a campaign with a job was deleted. */
export async function isDeleted(db: Db, { accountId, campaignId }: Job): Promise<boolean> {
  const row = await maybeOne(db, sql`SELECT FROM campaign WHERE account_id = ${accountId} AND id = ${campaignId}`);
  return row === undefined;
}

/** What a step adds to the counters of a run. */
export type RunDeltas = {
  readonly recipients?: number;
  readonly skipped?: number;
  readonly unusedMicros?: number;
  readonly allottedMicros?: number;
  readonly lateMicros?: number;
  readonly messages?: number;
  readonly ended?: number;
  readonly delivered?: number;
};

export async function updateRunCounters(db: Db, { accountId, campaignId }: Job, deltas: RunDeltas): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_run
        SET recipients = recipients + ${deltas.recipients ?? 0}, skipped = skipped + ${deltas.skipped ?? 0},
            unused_micros = unused_micros + ${deltas.unusedMicros ?? 0},
            allotted_micros = allotted_micros + ${deltas.allottedMicros ?? 0},
            late_micros = late_micros + ${deltas.lateMicros ?? 0}, messages = messages + ${deltas.messages ?? 0},
            ended = ended + ${deltas.ended ?? 0}, delivered = delivered + ${deltas.delivered ?? 0}
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`,
  );
}

/** 1 → 2. */
export async function moveToStarted(db: Db, { accountId, campaignId }: Job): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign SET status = 2, started_at = now(), failure_reason = NULL
        WHERE account_id = ${accountId} AND id = ${campaignId} AND ${statusAllows('start')} AND confirmed_at IS NOT NULL`,
  );
}

/** Holds a campaign until a person resumes it. */
export async function moveToPausedFor(
  db: Db,
  { accountId, campaignId }: Job,
  { reason }: { reason: string },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign SET paused_at = now(), failure_reason = ${reason}
        WHERE account_id = ${accountId} AND id = ${campaignId} AND status IN (1, 2) AND paused_at IS NULL`,
  );
}

/** A person has resumed it: why it was held is past. */
export async function clearFailureReason(db: Db, { accountId, campaignId }: Job): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign SET failure_reason = NULL WHERE account_id = ${accountId} AND id = ${campaignId} AND status = 2`,
  );
}

/** Cancels what is being sent of all accounts, and holds what waits for its time; of what was confirmed before. */
export async function moveToDiscarded(
  db: Db,
  { before, reason }: { before: Date; reason: string },
): Promise<(Job & { cancelled: boolean })[]> {
  return many(
    db,
    sql`UPDATE campaign SET cancelled_at = CASE WHEN status = 2 THEN now() END,
               paused_at = CASE WHEN status = 1 THEN now() END, failure_reason = CASE WHEN status = 1 THEN ${reason} END
        WHERE status IN (1, 2) AND confirmed_at < ${before} AND cancelled_at IS NULL
        RETURNING account_id AS "accountId", id AS "campaignId", status = 2 AS cancelled`,
  );
}

/** 2 → 3, or with a reason 2 → 4. */
export async function moveToEnded(
  db: Db,
  { accountId, campaignId }: Job,
  { reason }: { reason: string | null },
): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign SET status = CASE WHEN ${reason}::text IS NULL THEN 3 ELSE 4 END, failure_reason = ${reason},
               paused_at = NULL, completed_at = now()
        WHERE account_id = ${accountId} AND id = ${campaignId} AND ${statusAllows('complete')}`,
  );
}

/** Takes back what a campaign does not need of what was frozen for it; the credit is for the caller to move. */
export async function updateReserve(
  db: Db,
  { accountId, campaignId }: Job,
  { returnedMicros }: { returnedMicros: number },
): Promise<void> {
  await exec(
    db,
    sql`WITH own AS (UPDATE campaign SET reserved_micros = reserved_micros - ${returnedMicros}
                     WHERE account_id = ${accountId} AND id = ${campaignId})
        UPDATE campaign_run SET unused_micros = 0 WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`,
  );
}

export type Traffic = {
  /** Messages that have an end. */
  final: number;
  delivered: number;
  costMicros: number;
};

/** What came of a campaign's messages so far. */
export async function findTraffic(db: Db, { accountId, campaignId }: Job): Promise<Traffic> {
  return one(
    db,
    sql`SELECT coalesce(sum(delivered + failed), 0)::bigint AS final, coalesce(sum(delivered), 0)::bigint AS delivered,
               coalesce(sum(cost_micros), 0)::bigint AS "costMicros"
        FROM traffic_hour WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND campaign_id <> 0`,
  );
}
