import type { Pool } from 'pg';
import type { Waker } from '../../../network/dispatch/wake.ts';
import type { Log } from '../../../platform/lib/log.ts';
import type { Revoke } from '../../../messaging/fallback/ends.ts';
import type { Tables } from '../../../messaging/sending/prepare.ts';
import { processOutcomes } from '../fallback/outcomes.ts';
import { revokeAll } from '../fallback/revoke.ts';
import { processTimeouts } from '../fallback/timeouts.ts';
import { produceMessages } from '../production/produce.ts';
import { CAMPAIGN } from '../states.ts';
import { withdrawCancelled } from './end/cancel.ts';
import { cleanUpDeleted } from './end/clean-up.ts';
import { complete, returnLateReserve } from './end/complete.ts';
import { expand } from './expand/expand.ts';
import { clearPauseReason, pauseSuspended, pauseUnsendable, keepPaused } from './auto-pause.ts';
import { startWhenDue } from './start.ts';
import { runStep, type StepResult, type Action } from '../run/step.ts';
import * as db from '../run/sql.ts';

export type CampaignRunnerDeps = {
  readonly pool: Pool;
  readonly tables: Tables;
  readonly waker: Waker;
  readonly revoke: Revoke;
  /** While it answers true nothing is done. */
  readonly paused: () => boolean;
  readonly log: Log;
};

export type CampaignRunner = {
  /** Does what is due and answers when to come again, in ms. For one caller at a time. */
  runDue(): Promise<number>;
  /** A campaign has something to do, whatever its time: ends of messages, or a person's wish. */
  wake(campaignId: number): void;
  /** Resolves when nothing is under way. */
  stop(): Promise<void>;
};

const JOBS_PER_POLL = 50;
/** For what was not told of. */
const POLL_MS = 3000;
/** While other workers have all the campaigns that are due. */
const LOCKED_MS = 50;

/**
 * Moves campaigns on: each look does one step of every campaign that is due, in turns. Any number of workers do so; a
 * campaign is one worker's for the time of a step.
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
      log.error({ err, campaignId: job.campaignId }, 'a step of a campaign failed, trying again');
      await db.updateFailedJob(pool, job);
      return true;
    }
  }

  function afterCommit({ wake, revocable }: StepResult): void {
    for (const connectionId of wake) deps.waker.wake(connectionId);
    for (const messages of revocable) {
      const work = revokeAll(pool, deps.revoke, messages)
        .catch((err: unknown) => log.warn({ err }, 'messages could not be taken back from a network'))
        .finally(() => revoking.delete(work));
      revoking.add(work);
    }
  }

  return {
    async runDue() {
      // One plain query is all that an idle look costs.
      const nextMs = (await db.findNextJobMs(pool)) ?? POLL_MS;
      if (nextMs > 0 && woken.size === 0) return Math.min(POLL_MS, nextMs);
      const ids = [...woken];
      woken.clear();
      const jobs = await db.listDueJobs(pool, { woken: ids, limit: JOBS_PER_POLL });
      let moved = 0;
      for (const job of jobs) if (!paused() && (await runJob(job))) moved++;
      return moved === 0 && woken.size === 0 ? LOCKED_MS : 0;
    },
    wake: (campaignId) => woken.add(campaignId),
    async stop() {
      await Promise.all(revoking);
    },
  };
}

/** What there is to do for a campaign, in order; the step ends with the first that does something. */
function actionsOf(campaign: db.RunningCampaign): readonly Action[] {
  const { status, paused, cancelled, suspended, messages } = campaign;
  if (status === CAMPAIGN.READY) return paused ? [expand] : [startWhenDue, expand];
  if (status !== CAMPAIGN.SENDING) return [processOutcomes, returnLateReserve];
  if (cancelled) return [processOutcomes, withdrawCancelled, complete];
  if (suspended && messages === 0) return [withdrawCancelled, complete];
  if (paused) return [keepPaused, expand];
  if (suspended) return [pauseSuspended];
  return [clearPauseReason, pauseUnsendable, processOutcomes, processTimeouts, produceMessages, expand, complete];
}
