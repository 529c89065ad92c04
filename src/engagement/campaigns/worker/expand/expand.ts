import { loadPlan } from '../../load-plan.ts';
import { recipientsSql } from '../../audience/sql.ts';
import { NOTHING_TO_DO, type Step } from '../../run/step.ts';
import { insertRecipients } from './sql.ts';

/** A step takes some 100 ms by that: short enough for whoever wants to pause the campaign. */
const RECIPIENTS_PER_STEP = 5000;

/** Makes the next recipients, until all are made: the people as they are now, each number once. */
export async function expand({ tx, job, campaign }: Step): Promise<number> {
  if (campaign.expanded) return NOTHING_TO_DO;
  const { accountId, prices } = campaign;
  const plan = await loadPlan(tx, { accountId, campaign, prices });
  await insertRecipients(tx, job, {
    candidates: recipientsSql(plan, { after: campaign.expandedTo, limit: RECIPIENTS_PER_STEP }),
    leftMicros: campaign.reservedMicros - campaign.allottedMicros,
    limit: RECIPIENTS_PER_STEP,
  });
  return 0;
}
