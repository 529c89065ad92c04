import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Actor } from '../../platform/lib/actor.ts';
import { seesAmounts } from '../../platform/lib/amounts.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { calculateGoal } from './calculate-goal.ts';
import { refuseWithoutScope } from './check.ts';
import { changeCampaign, returnReserved } from './create.ts';
import type { ApplyIn } from './schema.ts';
import { claimCampaign, findCampaign } from './sql.ts';
import { confirmCampaign } from './lifecycle/confirm.ts';

type Input = { readonly id: number; readonly change: ApplyIn; readonly now: Date };

/**
 * Changes a campaign that is scheduled, prices it and confirms it again, in the caller's transaction: afterwards it is
 * scheduled as it is now, or, if this throws, as it was. The start waits for the lock of the campaign, so it is sent
 * either as it was or as it is now. The credit is moved last: all traffic of the account shares its row. Errors: 400
 * naming the faults, also when the campaign is not scheduled, has started or would cost more than `maxPrice`; 403; 404.
 */
export async function applyChange(tx: Db, actor: Actor, { id, change, now }: Input): Promise<void> {
  const one = { accountId: actor.accountId, id };
  const before = await claimCampaign(tx, one);
  if (!before) throw new AppError('not_found');
  if (!before.confirmedAt) throw invalidFields([{ field: 'status', message: 'the campaign is not scheduled' }]);
  const { maxPrice, ...patch } = change;
  const takenBack = await changeCampaign(tx, actor, { id, patch: { ...patch, readyToSend: true }, now });
  if (!takenBack) return refuseWithoutScope(actor, (await findCampaign(tx, one)) ?? before);
  await calculateGoal(tx, actor, { id });
  await refuseDearer(tx, actor, { id, maxPrice });
  await returnReserved(tx, takenBack, actor.accountId);
  await confirmCampaign(tx, actor, { id, now });
}

async function refuseDearer(
  tx: Db,
  actor: Actor,
  { id, maxPrice }: { readonly id: number; readonly maxPrice: number | undefined },
): Promise<void> {
  const priced = await findCampaign(tx, { accountId: actor.accountId, id });
  if (!priced || maxPrice === undefined || fromMicros(priced.estimatedMicros) <= maxPrice) return;
  const now = seesAmounts(actor) ? `: it is ${fromMicros(priced.estimatedMicros)} ${priced.currency} now` : '';
  throw invalidFields([{ field: 'maxPrice', message: `is less than the maximum cost of the campaign${now}` }]);
}
