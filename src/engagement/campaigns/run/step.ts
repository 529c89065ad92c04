import type { Pool, PoolClient } from 'pg';
import { transaction } from '../../../platform/db/transaction.ts';
import type { RevocableMessage } from '../../../messaging/fallback/ends.ts';
import type { Queued } from '../../../messaging/messages/new/announce.ts';
import type { Lookups } from '../../../messaging/sending/prepare.ts';
import * as db from './sql.ts';
import { MINUTE_MS } from '../../../platform/lib/time.ts';

/** Messages of a batch that must be revoked before their recipients are tried on another channel. */
export type RevocableBatch = {
  readonly job: db.Job;
  readonly batchId: number;
  readonly messages: readonly RevocableMessage[];
  /** Time in ms until the other messages of the batch are due again; null: they are done. */
  readonly againMs: number | null;
};

/** A step of a campaign: one transaction, in which the campaign and its run are locked. */
export type Step = {
  readonly tx: PoolClient;
  readonly job: db.Job;
  readonly campaign: db.RunningCampaign;
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

export type StepDeps = { readonly pool: Pool; readonly tables: Lookups };

/** Work to be done when a step has been committed. */
export type StepResult = Pick<Step, 'queued' | 'revocable'>;

/**
 * Runs one step of a campaign: its actions in order, up to the first that did something. The shortest wait that any of
 * them returned decides when the campaign is due again. Returns null when another worker has locked the campaign, or it
 * was deleted.
 */
export function runStep(
  { pool, tables }: StepDeps,
  job: db.Job,
  actionsOf: (campaign: db.RunningCampaign) => readonly Action[],
): Promise<StepResult | null> {
  return transaction(pool, async (tx) => {
    const campaign = await db.claimRunningCampaign(tx, job);
    if (!campaign) return null;
    const step: Step = { tx, job, campaign, tables, queued: [], revocable: [] };
    let waitMs = POLL_MS;
    for (const action of actionsOf(campaign)) {
      waitMs = Math.min(waitMs, await action(step));
      if (waitMs <= 0) break;
    }
    await db.updateJobDue(tx, { campaignId: job.campaignId, waitMs: Math.max(0, Math.round(waitMs)) });
    return step;
  });
}
