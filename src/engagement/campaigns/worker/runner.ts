import type { Pool } from 'pg';
import { announce, type AnnounceDeps } from '../../../messaging/messages/new/announce.ts';
import { AccountAway } from '../../../platform/errors.ts';
import { giveWay } from '../../../platform/lib/background/give-way.ts';
import type { Log } from '../../../platform/lib/log.ts';
import type { Revoke } from '../../../messaging/fallback/ends.ts';
import type { Lookups } from '../../../messaging/sending/prepare.ts';
import { processOutcomes } from '../fallback/outcomes.ts';
import { revokeAll } from '../fallback/revoke.ts';
import { processTimeouts } from '../fallback/timeouts.ts';
import { produceMessages } from '../production/produce.ts';
import { CAMPAIGN } from '../states.ts';
import { closeRecipients, withdrawMessages } from './end/cancel.ts';
import { cleanUpDeleted } from './end/clean-up.ts';
import { complete, finish } from './end/complete.ts';
import { expand } from './expand/expand.ts';
import { clearPauseReason, pauseSuspended, pauseUnsendable, keepPaused } from './auto-pause.ts';
import { startWhenDue } from './start.ts';
import { settleSpare } from '../run/reserve.ts';
import { runStep, type StepResult, type Action } from '../run/step.ts';
import * as db from '../run/sql.ts';

export type CampaignRunnerDeps = AnnounceDeps & {
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
      const work = revokeAll(pool, deps.revoke, messages)
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
        await giveWay(beganAt);
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
    processOutcomes,
    processTimeouts,
    produceMessages,
    expand,
    complete,
  ];
}
