import type { Pool, PoolClient } from 'pg';
import { transaction } from '../../../platform/db/transaction.ts';
import type { RevocableMessage } from '../../../messaging/fallback/ends.ts';
import type { Tables } from '../../../messaging/sending/prepare.ts';
import * as db from './sql.ts';

/** Messages of a batch that have to be taken back before their recipients go on. */
export type RevocableBatch = {
  readonly job: db.Job;
  readonly batchId: number;
  readonly messages: readonly RevocableMessage[];
  /** When to look at the batch again for its other messages; null: they are done. */
  readonly againMs: number | null;
};

/** A step of a campaign: one transaction that holds the campaign and its run. */
export type Step = {
  readonly tx: PoolClient;
  readonly job: db.Job;
  readonly campaign: db.RunningCampaign;
  readonly tables: Tables;
  /** Connections that have messages when the step is committed. */
  readonly wake: Set<number>;
  /** Messages that are to be taken back from their network when the step is committed. */
  readonly revocable: RevocableBatch[];
};

/**
 * A piece of work. Answers in how many ms it has something to do: 0 when it has done something and may have more,
 * `NOTHING` when it waits for others.
 */
export type Action = (step: Step) => Promise<number>;
export const NOTHING_TO_DO = Number.POSITIVE_INFINITY;

/** So late at most: for what was not told of. */
const POLL_MS = 60_000;

export type StepDeps = { readonly pool: Pool; readonly tables: Tables };

export type StepResult = Pick<Step, 'wake' | 'revocable'>;

/**
 * Does one step of a campaign: the first of `works` that finds something to do, whose answer and those before it say
 * when to come again. Null when somebody else has the campaign at the moment, or it is gone.
 */
export function runStep(
  { pool, tables }: StepDeps,
  job: db.Job,
  actionsOf: (campaign: db.RunningCampaign) => readonly Action[],
): Promise<StepResult | null> {
  return transaction(pool, async (tx) => {
    const campaign = await db.claimRunningCampaign(tx, job);
    if (!campaign) return null;
    const step: Step = { tx, job, campaign, tables, wake: new Set(), revocable: [] };
    let waitMs = POLL_MS;
    for (const action of actionsOf(campaign)) {
      waitMs = Math.min(waitMs, await action(step));
      if (waitMs <= 0) break;
    }
    await db.updateJobDue(tx, { campaignId: job.campaignId, waitMs: Math.max(0, Math.round(waitMs)) });
    return step;
  });
}
