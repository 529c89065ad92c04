import { loadPlan, RECIPIENTS_PER_STEP } from '../../load-plan.ts';
import { recipientsSql } from '../../audience/sql.ts';
import { isCombined } from '../../mode.ts';
import { updateRunCounters } from '../../run/sql.ts';
import { NOTHING_TO_DO, type Step } from '../../run/step.ts';
import { insertRecipients } from './sql.ts';

/** Creates the next recipients, until all are created: the contacts as they are now, each number once. */
export async function expand({ tx, job, campaign }: Step): Promise<number> {
  if (campaign.expanded) return NOTHING_TO_DO;
  const { accountId, prices } = campaign;
  const plan = await loadPlan(tx, { accountId, campaign, prices });
  const leftMicros = campaign.reservedMicros - campaign.allottedMicros;
  const { count, micros } = await insertRecipients(tx, job, {
    candidates: recipientsSql(plan, { after: campaign.expandedTo, limit: RECIPIENTS_PER_STEP }),
    leftMicros,
    limit: RECIPIENTS_PER_STEP,
  });
  const isLast = count < RECIPIENTS_PER_STEP;
  // Recipients may be fewer or cheaper than at the confirmation.
  if (isLast && isCombined(campaign.sendingMode))
    await updateRunCounters(tx, job, { unusedMicros: micros - leftMicros, spareMicros: leftMicros - micros });
  return 0;
}
