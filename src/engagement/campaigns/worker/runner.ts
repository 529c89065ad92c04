import type { Pool } from 'pg';
import type { Waker } from '../../../network/dispatch/wake.ts';
import type { Log } from '../../../platform/lib/log.ts';
import type { Revoke } from '../../../messaging/fallback/ends.ts';
import type { Tables } from '../../../messaging/sending/prepare.ts';
import { lookAtOutcomes } from '../fallback/outcomes.ts';
import { revokeAll } from '../fallback/revoke.ts';
import { lookAtTimes } from '../fallback/timeouts.ts';
import { feed } from '../production/produce.ts';
import { CAMPAIGN } from '../states.ts';
import { cancel } from './end/cancel.ts';
import { cleanUp } from './end/clean-up.ts';
import { complete, settleLate } from './end/complete.ts';
import { expand } from './expand/expand.ts';
import { forgetHold, holdSuspended, holdUnsendable, stayPaused } from './auto-pause.ts';
import { start } from './start.ts';
import { runStep, type Stepped, type Work } from '../run/step.ts';
import * as db from '../run/sql.ts';

export type CampaignDeps = {
  readonly pool: Pool;
  readonly tables: Tables;
  readonly waker: Waker;
  readonly revoke: Revoke;
  /** While it answers true nothing is done. */
  readonly paused: () => boolean;
  readonly log: Log;
};

export type Campaigns = {
  /** Does what is due and answers when to come again, in ms. For one caller at a time. */
  work(): Promise<number>;
  /** A campaign has something to do, whatever its time: ends of messages, or a person's wish. */
  wake(campaignId: number): void;
  /** Resolves when nothing is under way. */
  stop(): Promise<void>;
};

const JOBS_A_LOOK = 50;
/** For what was not told of. */
const POLL_MS = 3000;
/** While other workers have all the campaigns that are due. */
const LOCKED_MS = 50;

/**
 * Moves campaigns on: each look does one step of every campaign that is due, in turns. Any number of workers do so; a
 * campaign is one worker's for the time of a step.
 */
export function createCampaigns(deps: CampaignDeps): Campaigns {
  const { pool, paused, log } = deps;
  const woken = new Set<number>();
  const revoking = new Set<Promise<void>>();

  async function moveOn(job: db.Job): Promise<boolean> {
    try {
      const stepped = await runStep(deps, job, worksOf);
      if (stepped) follow(stepped);
      else if (await db.isGone(pool, job)) await cleanUp(pool, job);
      return stepped !== null;
    } catch (err) {
      log.error({ err, campaignId: job.campaignId }, 'a step of a campaign failed, trying again');
      await db.moveFailedJob(pool, job);
      return true;
    }
  }

  function follow({ wake, revocable }: Stepped): void {
    for (const connectionId of wake) deps.waker.wake(connectionId);
    for (const messages of revocable) {
      const work = revokeAll(pool, deps.revoke, messages)
        .catch((err: unknown) => log.warn({ err }, 'messages could not be taken back from a network'))
        .finally(() => revoking.delete(work));
      revoking.add(work);
    }
  }

  return {
    async work() {
      // One plain query is all that an idle look costs.
      const nextMs = (await db.findNextJobMs(pool)) ?? POLL_MS;
      if (nextMs > 0 && woken.size === 0) return Math.min(POLL_MS, nextMs);
      const ids = [...woken];
      woken.clear();
      const jobs = await db.listDueJobs(pool, { woken: ids, limit: JOBS_A_LOOK });
      let moved = 0;
      for (const job of jobs) if (!paused() && (await moveOn(job))) moved++;
      return moved === 0 && woken.size === 0 ? LOCKED_MS : 0;
    },
    wake: (campaignId) => woken.add(campaignId),
    async stop() {
      await Promise.all(revoking);
    },
  };
}

/** What there is to do for a campaign, in order; the step ends with the first that does something. */
function worksOf(campaign: db.Running): readonly Work[] {
  const { status, paused, cancelled, suspended, messages } = campaign;
  if (status === CAMPAIGN.READY) return paused ? [expand] : [start, expand];
  if (status !== CAMPAIGN.SENDING) return [lookAtOutcomes, settleLate];
  if (cancelled) return [lookAtOutcomes, cancel, complete];
  if (suspended && messages === 0) return [cancel, complete];
  if (paused) return [stayPaused, expand];
  if (suspended) return [holdSuspended];
  return [forgetHold, holdUnsendable, lookAtOutcomes, lookAtTimes, feed, expand, complete];
}
