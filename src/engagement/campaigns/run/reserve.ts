import { freezeUpTo, settleFrozen } from '../../../money/credit/charge.ts';
import * as db from './sql.ts';
import { NOTHING_TO_DO, type Step } from './step.ts';

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
  await db.updateReserve(tx, job, { addedMicros: frozenMicros, spareMicros: spareMicros + frozenMicros });
  return 0;
}

/** Returns an amount of a campaign's reserve to its account; `spareMicros` is the amount left to settle afterwards. */
export async function returnReserve(
  { tx, job, campaign }: StepScope,
  micros: number,
  spareMicros: number,
): Promise<void> {
  await db.updateReserve(tx, job, { addedMicros: -micros, spareMicros });
  const { accountId } = campaign;
  await settleFrozen(tx, { earned: [], returned: [{ accountId, micros }], reference: referenceOf(campaign) });
}

/** Freezes up to an amount for a campaign. Returns the amount that the credit of the account covered. */
export const freezeMore = ({ tx, campaign }: Pick<Step, 'tx' | 'campaign'>, micros: number): Promise<number> =>
  freezeUpTo(tx, { accountId: campaign.accountId, micros }, referenceOf(campaign));

const referenceOf = ({ id }: db.RunningCampaign): string => `campaign:${id}`;
