import { type Author, recordAudit } from '../../identity/audit/record.ts';
import { setStatementTimeoutMinutes } from '../../platform/db/transaction.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { type CampaignRow, findCampaign, listListVersions, updateGoal } from './sql.ts';
import { sumGoal, type AudienceSize } from './audience/goal.ts';
import { loadPlan } from './load-plan.ts';
import { listGoalRows } from './audience/sql.ts';

const MAX_MINUTES = 10;

/**
 * Counts the recipients that a campaign would reach and their maximum cost, in one pass over its lists or numbers, and
 * stores this as its goal. Changes in the meantime are not blocked: they make the goal stale. Call it in a transaction.
 * Errors: 400 when the campaign is already confirmed, 404.
 */
export async function calculateGoal(tx: Db, actor: Author, { id }: { id: number }): Promise<void> {
  const { accountId } = actor;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  const campaign = await findCampaign(tx, { accountId, id });
  if (!campaign) throw new AppError('not_found');
  if (campaign.confirmedAt) throw goalIsFrozen();
  // Read before the pass, so that the pass sees these versions or newer ones.
  const versions = await listListVersions(tx, { accountId, ids: campaign.contactListIds });
  const plan = await loadPlan(tx, { accountId, campaign });
  const { estimatedMicros, ...sums } = sumGoal(await listGoalRows(tx, plan), plan.mode, sizeOf(campaign, versions));
  const goal = { ...sums, prices: plan.prices };
  const listVersions = campaign.contactListIds.map((list) => versions.find((v) => v.id === list)?.version ?? 0);
  const counted = { goal, version: campaign.version, listVersions, estimatedMicros };
  if ((await updateGoal(tx, { accountId, id, ...counted })) === 0)
    throw (await findCampaign(tx, { accountId, id })) ? goalIsFrozen() : new AppError('not_found');
  const detail = { total: goal.total, estimatedMicros };
  await recordAudit(tx, actor, { action: 'campaign.goal', subject: `campaign:${id}`, detail });
}

const goalIsFrozen = () =>
  invalidFields([{ field: 'status', message: 'the campaign is confirmed: its goal cannot change' }]);

function sizeOf(
  { destinationType, destinations, unreadable }: CampaignRow,
  lists: readonly { contactCount: number }[],
): AudienceSize {
  if (destinationType === 2) return { named: destinations.length, unreadable };
  return { named: lists.reduce((sum, { contactCount }) => sum + contactCount, 0), unreadable: 0 };
}
