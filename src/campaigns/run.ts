import type { Pool, PoolClient } from 'pg';
import type { TrafficType } from '../channels/carrier.ts';
import type { GivenTlv } from '../channels/message-tlvs.ts';
import type { Purpose } from '../core/channels.ts';
import {
  as,
  columns,
  constant,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  plainArray,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { MINUTE_MS } from '../core/time.ts';
import { MISSED_AFTER } from '../dispatch/store.ts';
import type { QuietHours } from '../messages/calendar.ts';
import type { Queued } from '../messages/new-messages.ts';
import type { RevocableMessage } from '../messages/next-channel.ts';
import type { Lookups } from '../messages/prepare.ts';
import type { Encoding } from '../messages/smart-encoding.ts';
import { freezeUpTo, settleFrozen } from '../money/credit.ts';
import type { ListedPrice } from '../money/pricing.ts';
import type { FactData } from '../webhooks/fact-types.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import type { SendingMode } from './audience.ts';
import type { LocalTime } from './hours.ts';
import { CAMPAIGN, type CampaignStatus, type Fallback, statusAllows, trafficTypeSql, UNFINISHED } from './store.ts';

type StepScope = Pick<Step, 'tx' | 'job' | 'campaign'>;

/**
 * Returns the credit that a combined campaign can no longer spend (`spareMicros`): it keeps reserved the maximum that
 * its open recipients can still cost. Below zero it freezes more, as far as the account has credit: a message whose
 * time was over may still be delivered, and costs its price in addition to that of the next channel.
 *
 * It is a separate action, because a transaction settles credit only once: the frozen credit of an account is several
 * rows, and two transactions that lock two of them each could wait for each other.
 */
export async function settleSpare({ tx, job, campaign }: Step): Promise<number> {
  const { spareMicros, expanded } = campaign;
  // Until all recipients are created, their reserves are counted against the whole.
  if (spareMicros === 0 || !expanded) return NOTHING_TO_DO;
  if (spareMicros > 0) {
    await returnReserve({ tx, job, campaign }, spareMicros, 0);
    return 0;
  }
  const frozenMicros = await freezeMore({ tx, campaign }, -spareMicros);
  if (frozenMicros === 0) return NOTHING_TO_DO;
  await updateReserve(tx, job, { addedMicros: frozenMicros, spareMicros: spareMicros + frozenMicros });
  return 0;
}

/** Returns an amount of a campaign's reserve to its account; `spareMicros` is the amount left to settle afterwards. */
export async function returnReserve(
  { tx, job, campaign }: StepScope,
  micros: number,
  spareMicros: number,
): Promise<void> {
  await updateReserve(tx, job, { addedMicros: -micros, spareMicros });
  const { accountId } = campaign;
  await settleFrozen(tx, { earned: [], returned: [{ accountId, micros }], reference: referenceOf(campaign) });
}

/** Freezes up to an amount for a campaign. Returns the amount that the credit of the account covered. */
export const freezeMore = ({ tx, campaign }: Pick<Step, 'tx' | 'campaign'>, micros: number): Promise<number> =>
  freezeUpTo(tx, { accountId: campaign.accountId, micros }, referenceOf(campaign));

const referenceOf = ({ id }: RunningCampaign): string => `campaign:${id}`;

/** Messages of a batch that must be revoked before their recipients are tried on another channel. */
export type RevocableBatch = {
  readonly job: Job;
  readonly batchId: number;
  readonly messages: readonly RevocableMessage[];
  /** Time in ms until the other messages of the batch are due again; null: they are done. */
  readonly againMs: number | null;
};

/** A step of a campaign: one transaction, in which the campaign and its run are locked. */
export type Step = {
  readonly tx: PoolClient;
  readonly job: Job;
  readonly campaign: RunningCampaign;
  readonly tables: Lookups;
  /** The chunks that the step queues, to be announced once it is committed. */
  readonly queued: Queued[];
  /** Messages to be revoked at their network once the step is committed. */
  readonly revocable: RevocableBatch[];
};

/**
 * An action that a step may do. Returns the ms until it is due again: 0 when it has done something and may have more to
 * do, `NOTHING_TO_DO` when it waits for another event.
 */
export type Action = (step: Step) => Promise<number>;
/** The wait that an action returns when it waits for another event. */
export const NOTHING_TO_DO = Number.POSITIVE_INFINITY;

/** The longest wait until the next step, which finds changes without a notification. */
const POLL_MS = MINUTE_MS;

type StepDeps = { readonly pool: Pool; readonly tables: Lookups };

/** Work to be done when a step has been committed. */
export type StepResult = Pick<Step, 'queued' | 'revocable'>;

/**
 * Runs one step of a campaign: its actions in order, up to the first that did something. The shortest wait that any of
 * them returned decides when the campaign is due again. Returns null when another worker has locked the campaign, or it
 * was deleted.
 */
export function runStep(
  { pool, tables }: StepDeps,
  job: Job,
  actionsOf: (campaign: RunningCampaign) => readonly Action[],
): Promise<StepResult | null> {
  return transaction(pool, async (tx) => {
    const campaign = await claimRunningCampaign(tx, job);
    if (!campaign) return null;
    const step: Step = { tx, job, campaign, tables, queued: [], revocable: [] };
    let waitMs = POLL_MS;
    for (const action of actionsOf(campaign)) {
      waitMs = Math.min(waitMs, await action(step));
      if (waitMs <= 0) break;
    }
    await updateJobDue(tx, { campaignId: job.campaignId, waitMs: Math.max(0, Math.round(waitMs)) });
    return step;
  });
}

const { READY, SENDING, COMPLETED, FAILED } = CAMPAIGN;

const JOB = columns({ accountId: as<number>('account_id'), campaignId: as<number>('campaign_id') });

/** A campaign that workers have to process. */
export type Job = RowOf<typeof JOB>;

/**
 * Lists the campaigns that are due, and those of `woken` even if they are not due; the one that has waited longest
 * first.
 */
export async function listDueJobs(
  db: Db,
  { woken, limit }: { woken: readonly number[]; limit: number },
): Promise<Job[]> {
  return many(
    db,
    sql`SELECT ${JOB} FROM campaign_job
        WHERE due_at <= now() OR campaign_id = ANY(${plainArray(woken)}::bigint[])
        ORDER BY due_at, campaign_id LIMIT ${limit}`,
  );
}

/** Returns the ms until the next campaign is due (negative when one is overdue); null when no campaign is waiting. */
export async function findNextJobMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM campaign_job`,
  );
  return ms;
}

/** Sets when a campaign is processed again, and resets its failures. */
async function updateJobDue(db: Db, { campaignId, waitMs }: { campaignId: number; waitMs: number }): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_job SET failures = 0, due_at = now() + ${waitMs} * interval '1 millisecond'
        WHERE campaign_id = ${campaignId}`,
  );
}

/** Counts a failed step and postpones the next one: longer after each failure, up to five minutes. */
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

const RUNNING_CAMPAIGN = columns({
  accountId: as<number>('c.account_id'),
  id: as<number>('c.id'),
  /** The clock of the database. */
  now: as<Date>('now()'),
  status: as<CampaignStatus>('c.status'),
  sendingMode: as<SendingMode>('c.sending_mode'),
  smsSender: as<string | null>('c.sms_sender'),
  smsBody: as<string | null>('c.sms_body'),
  rcsAgentId: as<string | null>('c.rcs_agent_id'),
  rcsTemplateId: as<string | null>('c.rcs_template_id'),
  rcsTrafficType: as<TrafficType | null>('c.rcs_traffic_type'),
  whatsappPhoneNumberId: as<string | null>('c.whatsapp_phone_number_id'),
  whatsappTemplateId: as<string | null>('c.whatsapp_template_id'),
  /** 1 contact lists, 2 destinations. */
  destinationType: as<1 | 2 | null>('c.destination_type'),
  contactListIds: as<number[]>('c.contact_list_ids'),
  /** The prices in force since its confirmation. */
  prices: as<ListedPrice[]>("coalesce(c.audience -> 'prices', '[]')"),
  /** The category of the WhatsApp template for which they were calculated; null: none. */
  pricedCategory: as<string | null>("c.audience ->> 'whatsappCategory'"),
  /** The category of the WhatsApp template now; null: none. */
  whatsappCategory: as<string | null>(
    `(SELECT lower(t.category) FROM template t WHERE t.channel = 'WHATSAPP' AND t.id = c.whatsapp_template_id
       AND c.sending_mode LIKE '%WHATSAPP%')`,
  ),
  trafficType: as<TrafficType | null>(trafficTypeSql('c')),
  fallback: as<Fallback>('c.fallback'),
  /** The campaign's own quiet hours, or else those of its account. */
  effectiveQuietHours: as<QuietHours | null>('coalesce(c.quiet_hours, p.quiet_hours)'),
  purpose: as<Purpose | null>('c.purpose'),
  respectCalendar: as<boolean | null>('c.respect_calendar'),
  localTime: as<LocalTime | null>('c.local_time'),
  confirmedAt: as<Date | null>('c.confirmed_at'),
  /** The lower one of the campaign and the account; null: none. */
  weeklyCap: as<number | null>('least(c.weekly_cap, a.weekly_cap)'),
  encoding: as<Encoding | null>('c.encoding'),
  tlvs: as<GivenTlv[] | null>('c.tlvs'),
  accountPurpose: as<Purpose | null>('a.default_purpose'),
  accountRespectsCalendar: as<boolean>('a.respects_calendar'),
  /** The maximum number of recipients per second; null: no limit. */
  rate: as<number | null>('c.rate'),
  reservedMicros: as<number>('c.reserved_micros'),
  apiKeyId: as<number | null>('c.api_key_id'),
  userId: as<number | null>('c.user_id'),
  paused: as<boolean>('c.paused_at IS NOT NULL'),
  cancelled: as<boolean>('c.cancelled_at IS NOT NULL'),
  failureReason: as<string | null>('c.failure_reason'),
  /** The time until its scheduled start; negative when that has passed, null when it has no schedule. */
  startsInMs: as<number | null>('(extract(epoch FROM c.scheduled_at - now()) * 1000)::float8'),
  /** True if its scheduled start passed too long ago to start automatically. */
  missed: as<boolean>(sql`coalesce(c.scheduled_at < now() - ${MISSED_AFTER}, false)`),
  /** Time since it was paused; null when it is not paused. */
  pausedMs: as<number | null>('(extract(epoch FROM now() - c.paused_at) * 1000)::float8'),
  /** True if its account is suspended. */
  suspended: as<boolean>("a.status <> 'active'"),
  /** True if its account has any opt-outs. */
  hasOptOuts: as<boolean>('a.has_opt_outs'),
  /** The last number for which a recipient was created. */
  expandedTo: as<string | null>('r.expanded_to'),
  /** True if all recipients were created. */
  expanded: as<boolean>('r.expanded'),
  recipients: as<number>('r.recipients'),
  skipped: as<number>('r.skipped'),
  /** Recipients without a message because of the cancellation. */
  unmade: as<number>('r.unmade'),
  /** The part of the reserve of recipients without a message. */
  unusedMicros: as<number>('r.unused_micros'),
  allottedMicros: as<number>('r.allotted_micros'),
  /**
   * The amount that a combined campaign can no longer cost and has not returned; below zero: the amount that it may
   * cost beyond its reserve.
   */
  spareMicros: as<number>('r.spare_micros'),
  messages: as<number>('r.messages'),
  ended: as<number>('r.ended'),
  /** Recipients of combined modes who were reached. */
  delivered: as<number>('r.delivered'),
});

/** A campaign with its run, both locked for one step. */
export type RunningCampaign = RowOf<typeof RUNNING_CAMPAIGN>;

/**
 * Locks a campaign and its run. Returns undefined when another worker has locked either, and when the campaign was
 * deleted (use `isDeleted` to distinguish them).
 */
async function claimRunningCampaign(db: Db, { accountId, campaignId }: Job): Promise<RunningCampaign | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${RUNNING_CAMPAIGN}
        FROM campaign c
        JOIN campaign_run r ON r.account_id = c.account_id AND r.campaign_id = c.id
        JOIN account a ON a.id = c.account_id
        LEFT JOIN campaign_policy p ON p.account_id = c.account_id
        WHERE c.account_id = ${accountId} AND c.id = ${campaignId}
        FOR NO KEY UPDATE OF c, r SKIP LOCKED`,
  );
}

/** Returns true if the campaign of a job was deleted. */
export async function isDeleted(db: Db, { accountId, campaignId }: Job): Promise<boolean> {
  const row = await maybeOne(db, sql`SELECT FROM campaign WHERE account_id = ${accountId} AND id = ${campaignId}`);
  return row === undefined;
}

/** Amounts that a step adds to the counters of a run; omitted counters are unchanged. */
export type RunDeltas = {
  readonly recipients?: number;
  readonly skipped?: number;
  readonly unusedMicros?: number;
  readonly allottedMicros?: number;
  readonly spareMicros?: number;
  readonly withdrawn?: number;
  readonly messages?: number;
  readonly ended?: number;
  readonly delivered?: number;
  readonly deliveredTwice?: number;
};

export async function updateRunCounters(db: Db, { accountId, campaignId }: Job, deltas: RunDeltas): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign_run
        SET recipients = recipients + ${deltas.recipients ?? 0}, skipped = skipped + ${deltas.skipped ?? 0},
            unused_micros = unused_micros + ${deltas.unusedMicros ?? 0},
            allotted_micros = allotted_micros + ${deltas.allottedMicros ?? 0},
            spare_micros = spare_micros + ${deltas.spareMicros ?? 0}, messages = messages + ${deltas.messages ?? 0},
            withdrawn = withdrawn + ${deltas.withdrawn ?? 0},
            ended = ended + ${deltas.ended ?? 0}, delivered = delivered + ${deltas.delivered ?? 0},
            delivered_twice = delivered_twice + ${deltas.deliveredTwice ?? 0}
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`,
  );
}

/** Starts a confirmed campaign: READY becomes SENDING. */
export async function moveToStarted(db: Db, { accountId, campaignId }: Job): Promise<void> {
  const moved = await exec(
    db,
    sql`UPDATE campaign SET status = ${constant(SENDING)}, started_at = now(), failure_reason = NULL
        WHERE account_id = ${accountId} AND id = ${campaignId} AND ${statusAllows('start')} AND confirmed_at IS NOT NULL`,
  );
  if (moved > 0) await publishState(db, { accountId, campaignId }, 'SENDING');
}

/** Pauses a campaign for a reason, until a person resumes it. A campaign that is already paused is unchanged. */
export async function moveToPausedFor(
  db: Db,
  { accountId, campaignId }: Job,
  { reason }: { reason: string },
): Promise<void> {
  const moved = await exec(
    db,
    sql`UPDATE campaign SET paused_at = now(), failure_reason = ${reason}
        WHERE account_id = ${accountId} AND id = ${campaignId} AND status IN (${UNFINISHED}) AND paused_at IS NULL`,
  );
  if (moved > 0) await publishState(db, { accountId, campaignId }, 'PAUSED', reason);
}

/** Clears the reason for which a campaign was paused, after a person has resumed it. */
export async function clearFailureReason(db: Db, { accountId, campaignId }: Job): Promise<void> {
  await exec(
    db,
    sql`UPDATE campaign SET failure_reason = NULL
        WHERE account_id = ${accountId} AND id = ${campaignId} AND status = ${constant(SENDING)}`,
  );
}

/**
 * Cancels the campaigns that are being sent and pauses those that wait for their time, in all accounts, as far as they
 * were confirmed before an instant. Returns them; `cancelled` is true for the former.
 */
export async function moveToDiscarded(
  db: Db,
  { before, reason }: { before: Date; reason: string },
): Promise<(Job & { cancelled: boolean })[]> {
  return many(
    db,
    sql`UPDATE campaign SET cancelled_at = CASE WHEN status = ${constant(SENDING)} THEN now() END,
               paused_at = CASE WHEN status = ${constant(READY)} THEN now() END,
               failure_reason = CASE WHEN status = ${constant(READY)} THEN ${reason} END
        WHERE status IN (${UNFINISHED}) AND confirmed_at < ${before} AND cancelled_at IS NULL
        RETURNING account_id AS "accountId", id AS "campaignId", status = ${constant(SENDING)} AS cancelled`,
  );
}

/** Ends a campaign that is being sent: as COMPLETED, or with a reason as FAILED. */
export async function moveToEnded(
  db: Db,
  { accountId, campaignId }: Job,
  { reason }: { reason: string | null },
): Promise<void> {
  const ended = await maybeOne<{ cancelled: boolean }>(
    db,
    sql`UPDATE campaign
        SET status = CASE WHEN ${reason}::text IS NULL THEN ${constant(COMPLETED)} ELSE ${constant(FAILED)} END,
            failure_reason = ${reason}, paused_at = NULL, completed_at = now()
        WHERE account_id = ${accountId} AND id = ${campaignId} AND ${statusAllows('complete')}
        RETURNING cancelled_at IS NOT NULL AS cancelled`,
  );
  if (ended?.cancelled === false)
    await publishState(db, { accountId, campaignId }, reason === null ? 'COMPLETED' : 'FAILED', reason);
}

export const publishState = (
  tx: Db,
  { accountId, campaignId }: Job,
  state: FactData<'campaign.state'>['state'],
  reason: string | null = null,
): Promise<void> =>
  publishFacts(tx, [{ accountId, type: 'campaign.state', about: campaignId, data: { campaignId, state, reason } }]);

/**
 * Adds to the reserve of a campaign, or takes from it when `addedMicros` is below zero, and sets the amount of it left
 * to settle. The caller moves the credit.
 */
export async function updateReserve(
  db: Db,
  { accountId, campaignId }: Job,
  { addedMicros, spareMicros }: { addedMicros: number; spareMicros: number },
): Promise<void> {
  await exec(
    db,
    sql`WITH own AS (UPDATE campaign SET reserved_micros = reserved_micros + ${addedMicros}
                     WHERE account_id = ${accountId} AND id = ${campaignId})
        UPDATE campaign_run SET spare_micros = ${spareMicros}
        WHERE account_id = ${accountId} AND campaign_id = ${campaignId}`,
  );
}

const TRAFFIC = columns({
  /** Messages that have a final status. */
  final: as<number>('coalesce(sum(delivered + failed), 0)::bigint'),
  delivered: as<number>('coalesce(sum(delivered), 0)::bigint'),
  costMicros: as<number>('coalesce(sum(cost_micros), 0)::bigint'),
});

/** The sums of a campaign's hourly figures. */
export type Traffic = RowOf<typeof TRAFFIC>;

/** Sums up the outcomes of a campaign's messages so far. */
export async function findTraffic(db: Db, { accountId, campaignId }: Job): Promise<Traffic> {
  return one(
    db,
    sql`SELECT ${TRAFFIC} FROM traffic_hour WHERE account_id = ${accountId} AND campaign_id = ${campaignId} AND campaign_id <> 0`,
  );
}
