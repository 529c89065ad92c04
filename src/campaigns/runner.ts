import type { Pool } from 'pg';
import { recordAudit, systemAuthor } from '../accounts/audit.ts';
import { type Task, yieldToSingles } from '../core/background.ts';
import { as, columns, type Db, one, type RowOf, type Sql, sql } from '../core/db/query.ts';
import { AccountAway } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { MINUTE_MS } from '../core/time.ts';
import { moveChunksToParked } from '../dispatch/store.ts';
import { CAMPAIGNS_CHANNEL } from '../messages/events.ts';
import { type AnnounceDeps, announce } from '../messages/new-messages.ts';
import type { Revoke } from '../messages/next-channel.ts';
import type { Lookups } from '../messages/prepare.ts';
import { isCombined, recipientsSql } from './audience.ts';
import { loadPlan, RECIPIENTS_PER_STEP } from './create.ts';
import { pauseDearer } from './price-change.ts';
import {
  cleanUpDeleted,
  closeRecipients,
  complete,
  finish,
  listTemplateFaults,
  SUSPENDED,
  withdrawMessages,
} from './end.ts';
import { areaRows, hasHours } from './hours.ts';
import { processOutcomes, processTimeouts, revokeBatch } from './fallback.ts';
import { produceMessages } from './produce.ts';
import * as db from './run.ts';
import {
  type Action,
  clearFailureReason,
  type Job,
  moveToPausedFor,
  NOTHING_TO_DO,
  runStep,
  type Step,
  type StepResult,
  settleSpare,
  updateRunCounters,
} from './run.ts';
import { CAMPAIGN } from './store.ts';

type CampaignRunnerDeps = AnnounceDeps & {
  readonly pool: Pool;
  readonly tables: Lookups;
  readonly revoke: Revoke;
  /** Returns true while nothing must be done. */
  readonly paused: () => boolean;
  readonly log: Log;
};

export type CampaignRunner = {
  /**
   * Runs a step of every campaign that is due. Returns the ms until it must be called again. For one caller at a time.
   */
  runDue(): Promise<number>;
  /** Makes a campaign due now: messages have ended, or a person has changed it. */
  wake(campaignId: number): void;
  /** Resolves when no message is being revoked any more. */
  stop(): Promise<void>;
};

const JOBS_PER_POLL = 50;
/** The longest wait, which finds changes without a notification. */
const POLL_MS = 3000;
/** The wait while other workers have locked all campaigns that are due. */
const LOCKED_MS = 50;

/**
 * Creates the runner of campaigns: each poll runs one step of every campaign that is due, one after the other. Any
 * number of workers do so in parallel; a step locks its campaign.
 */
export function createCampaignRunner(deps: CampaignRunnerDeps): CampaignRunner {
  const { pool, paused, log } = deps;
  const woken = new Set<number>();
  const revoking = new Set<Promise<void>>();

  async function runJob(job: db.Job): Promise<boolean> {
    try {
      const stepped = await runStep(deps, job, actionsOf);
      if (stepped) afterCommit(stepped);
      else if (await db.isDeleted(pool, job)) await cleanUpDeleted(pool, job);
      return stepped !== null;
    } catch (err) {
      // A move has taken the account meanwhile: its campaign continues there, or here if the move is abandoned.
      if (err instanceof AccountAway)
        log.info({ campaignId: job.campaignId }, 'the account of a campaign is being moved to another cell');
      else log.error({ err, campaignId: job.campaignId }, 'a step of a campaign failed; retrying');
      await db.updateFailedJob(pool, job);
      return true;
    }
  }

  function afterCommit({ queued, revocable }: StepResult): void {
    announce(deps, queued);
    for (const messages of revocable) {
      const work = revokeBatch(pool, deps.revoke, messages)
        .catch((err: unknown) => log.warn({ err }, 'messages could not be revoked at a network'))
        .finally(() => revoking.delete(work));
      revoking.add(work);
    }
  }

  return {
    async runDue() {
      // An idle poll costs a single plain query.
      const nextMs = (await db.findNextJobMs(pool)) ?? POLL_MS;
      if (nextMs > 0 && woken.size === 0) return Math.min(POLL_MS, nextMs);
      const ids = [...woken];
      woken.clear();
      const jobs = await db.listDueJobs(pool, { woken: ids, limit: JOBS_PER_POLL });
      let moved = 0;
      for (const job of jobs) {
        const beganAt = performance.now();
        if (!paused() && (await runJob(job))) moved++;
        await yieldToSingles(beganAt);
      }
      return moved === 0 && woken.size === 0 ? LOCKED_MS : 0;
    },
    wake: (campaignId) => woken.add(campaignId),
    async stop() {
      await Promise.all(revoking);
    },
  };
}

/** Returns the actions of a step for a campaign, in order; the step ends with the first action that did something. */
function actionsOf(campaign: db.RunningCampaign): readonly Action[] {
  const { status, paused, cancelled, suspended, messages } = campaign;
  if (status === CAMPAIGN.READY) return paused ? [expand] : [startWhenDue, expand];
  if (status !== CAMPAIGN.SENDING) return [settleSpare, processOutcomes, finish];
  if (cancelled) return [settleSpare, processOutcomes, withdrawMessages, expand, closeRecipients, complete];
  if (suspended && messages === 0) return [withdrawMessages, expand, closeRecipients, complete];
  if (paused) return [settleSpare, keepPaused, expand];
  if (suspended) return [pauseSuspended];
  return [
    settleSpare,
    clearPauseReason,
    pauseUnsendable,
    pauseDearer,
    processOutcomes,
    processTimeouts,
    produceMessages,
    expand,
    complete,
  ];
}

const MISSED = 'Its time passed more than an hour ago while nothing could be sent: resume it to send it now';

/**
 * Starts a scheduled campaign when its time has come. If no worker could start it for more than an hour, it is paused:
 * a morning offer should not go out at night, so a person decides. The reason stays when it is resumed, which shows
 * that a person has decided. A campaign whose template may not be sent is paused too.
 */
export async function startWhenDue(step: Step): Promise<number> {
  const { tx, job, campaign } = step;
  const waitMs = campaign.startsInMs ?? 0;
  if (waitMs > 0) return waitMs;
  if (campaign.missed && campaign.failureReason === null) {
    await db.moveToPausedFor(tx, job, { reason: MISSED });
    return NOTHING_TO_DO;
  }
  if ((await pauseUnsendable(step)) === 0 || (await pauseDearer(step)) === 0) return NOTHING_TO_DO;
  await db.moveToStarted(tx, job);
  return 0;
}

const AUTO_POLL_MS = 1000;
/** Time within which a carrier may request a retry of a message that it had when the campaign was paused. */
const SETTLED_MS = 2 * MINUTE_MS;

/** Keeps the messages of a paused campaign parked, including those that return to the queue. */
async function keepPaused({ tx, job, campaign }: Step): Promise<number> {
  await moveChunksToParked(tx, job);
  return (campaign.pausedMs ?? 0) < SETTLED_MS ? AUTO_POLL_MS : NOTHING_TO_DO;
}

/** Pauses a campaign whose account was suspended, until a person resumes it. */
async function pauseSuspended({ tx, job }: Step): Promise<number> {
  await moveToPausedFor(tx, job, { reason: SUSPENDED });
  await moveChunksToParked(tx, job);
  return AUTO_POLL_MS;
}

/**
 * Pauses a campaign whose template may not be sent any more, until a person resumes it; the reason names the template.
 * Returns 0 when it did.
 */
async function pauseUnsendable({ tx, job, campaign }: Step): Promise<number> {
  const faults = await listTemplateFaults(tx, { ...campaign, settings: campaign });
  if (faults.length === 0) return NOTHING_TO_DO;
  const reason = faults.map(({ field, templateId, message }) => `${field} ${templateId}: ${message}`).join('; ');
  await moveToPausedFor(tx, job, { reason });
  await moveChunksToParked(tx, job);
  const subject = `campaign:${campaign.id}`;
  await recordAudit(tx, systemAuthor(campaign.accountId), { action: 'campaign.pause', subject, detail: { reason } });
  return 0;
}

/** Clears the reason for which a campaign was paused, once it has been resumed. */
async function clearPauseReason({ tx, job, campaign }: Step): Promise<number> {
  if (campaign.failureReason !== null) await clearFailureReason(tx, job);
  return NOTHING_TO_DO;
}

/** Creates the next recipients, until all are created: the contacts as they are now, each number once. */
async function expand({ tx, job, campaign, tables }: Step): Promise<number> {
  if (campaign.expanded) return NOTHING_TO_DO;
  const { accountId, prices } = campaign;
  const plan = await loadPlan(tx, { accountId, campaign, prices, ...tables });
  const leftMicros = campaign.reservedMicros - campaign.allottedMicros;
  const { count, micros } = await insertRecipients(tx, job, {
    candidates: recipientsSql(plan, { after: campaign.expandedTo, limit: RECIPIENTS_PER_STEP }),
    leftMicros,
    limit: RECIPIENTS_PER_STEP,
    byArea: hasHours(campaign),
  });
  const isLast = count < RECIPIENTS_PER_STEP;
  // Recipients may be fewer or cheaper than at the confirmation.
  if (isLast && isCombined(campaign.sendingMode))
    await updateRunCounters(tx, job, { unusedMicros: micros - leftMicros, spareMicros: leftMicros - micros });
  return 0;
}

const EXPANDED = columns({
  /** The candidates, including those who get nothing. */
  count: as<number>('r.count::bigint'),
  skipped: as<number>('r.skipped::bigint'),
  /** The reserve of the others. */
  micros: as<number>('r.micros::bigint'),
  /** The number of the last candidate; null when there was none. */
  last: as<string | null>('s.last'),
});

/** Number of recipients that a step created. */
type Expanded = RowOf<typeof EXPANDED>;

/**
 * Inserts candidates (a SELECT of the columns of `recipientsSql`) as recipients, in their order, with the lanes of
 * their countries. Recipients beyond a total reserve of `leftMicros` are skipped as 'no_credit'. The cursor moves in
 * the same statement, so that a crash neither skips nor repeats a recipient. The statement fails if a number is already
 * a recipient: that would be a bug, and checking for it at each insert took a quarter of the time.
 */
async function insertRecipients(
  db: Db,
  { accountId, campaignId }: Job,
  {
    candidates,
    leftMicros,
    limit,
    byArea,
  }: {
    candidates: Sql;
    leftMicros: number;
    limit: number;
    /** True if numbers of different areas may be sent to at different times. */
    byArea: boolean;
  },
): Promise<Expanded> {
  return one(
    db,
    sql`WITH candidate AS MATERIALIZED (${candidates}),
        counted AS (SELECT d.*, sum(d.reserve_micros) OVER (ORDER BY d.destination COLLATE "C") > ${leftMicros}
                      AND d.skip_reason IS NULL AS dear FROM candidate d),
        made AS (
          INSERT INTO campaign_recipient (account_id, campaign_id, country, destination, contact_id, channels, sms_parts,
                                          reserve_micros, skip_reason)
          SELECT ${accountId}, ${campaignId}, country, destination, contact_id, CASE WHEN dear THEN 0 ELSE channels END,
                 sms_parts, CASE WHEN dear THEN 0 ELSE reserve_micros END,
                 CASE WHEN dear THEN 'no_credit' ELSE skip_reason END
          FROM counted
          RETURNING country, reserve_micros, skip_reason),
        lanes AS (
          INSERT INTO campaign_lane (account_id, campaign_id, country, area, range_from, range_to)
          SELECT ${accountId}::bigint, ${campaignId}::bigint, m.country, coalesce(a.area, ''),
                 string_to_array(a.starts, ','), string_to_array(a.ends, ',')
          FROM (SELECT country FROM made GROUP BY country HAVING bool_or(skip_reason IS NULL)) AS m
          LEFT JOIN ${areaRows(byArea)} ON a.country = m.country
          ON CONFLICT DO NOTHING),
        seen AS (SELECT count(*) AS count, max(destination COLLATE "C") AS last FROM candidate),
        run AS (
          UPDATE campaign_run r
          SET expanded_to = coalesce(s.last, r.expanded_to), expanded = s.count < ${limit},
              recipients = r.recipients + m.count, skipped = r.skipped + m.skipped,
              allotted_micros = r.allotted_micros + m.micros
          FROM seen s, (SELECT count(*) AS count, count(skip_reason) AS skipped, coalesce(sum(reserve_micros), 0) AS micros
                        FROM made) AS m
          WHERE r.account_id = ${accountId} AND r.campaign_id = ${campaignId}
          RETURNING m.count, m.skipped, m.micros)
        SELECT ${EXPANDED} FROM run r, seen s`,
  );
}

/** Runs the due steps of campaigns. */
export function campaignTasks(deps: CampaignRunnerDeps): Task[] {
  const campaigns = createCampaignRunner(deps);
  return [
    {
      name: 'campaigns',
      pausable: true,
      work: campaigns.runDue,
      wakeOn: {
        [CAMPAIGNS_CHANNEL](payload) {
          if (payload !== '') campaigns.wake(Number(payload));
          return true;
        },
      },
      close: campaigns.stop,
    },
  ];
}
