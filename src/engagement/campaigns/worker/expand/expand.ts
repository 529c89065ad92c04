import { loadPlan } from '../../load-plan.ts';
import { recipientsSql } from '../../audience/sql.ts';
import { NOTHING, type Step } from '../../run/step.ts';
import { insertRecipients } from './sql.ts';

/** A step takes some 100 ms by that: short enough for whoever wants to pause the campaign. */
const RECIPIENTS_A_STEP = 5000;

/** Makes the next recipients, until all are made: the people as they are now, each number once. */
export async function expand({ tx, job, campaign }: Step): Promise<number> {
  if (campaign.expanded) return NOTHING;
  const { accountId, prices } = campaign;
  const plan = await loadPlan(tx, { accountId, campaign, prices });
  await insertRecipients(tx, job, {
    candidates: recipientsSql(plan, { after: campaign.expandedTo, limit: RECIPIENTS_A_STEP }),
    leftMicros: campaign.reservedMicros - campaign.allottedMicros,
    limit: RECIPIENTS_A_STEP,
  });
  return 0;
}
