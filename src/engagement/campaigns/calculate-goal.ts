import { type Author, recordAudit } from '../../identity/audit/record.ts';
import { allowMinutes } from '../../platform/db/long-statements.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import { type CampaignRow, findCampaign, listListVersions, updateGoal } from './sql.ts';
import { sumGoal, type AudienceSize } from './audience/goal.ts';
import { loadPlan } from './load-plan.ts';
import { listGoalRows } from './audience/sql.ts';

const MINUTES = 10;

/**
 * Counts whom a campaign would reach and what that costs at most, in one pass over its lists or numbers. Call it in a
 * transaction. What is changed meanwhile is not waited for: it makes the goal stale.
 * Errors: 400 when it is confirmed already, 404.
 */
export async function calculateGoal(tx: Db, actor: Author, { id }: { id: number }): Promise<void> {
  const { accountId } = actor;
  await allowMinutes(tx, MINUTES);
  const campaign = await findCampaign(tx, { accountId, id });
  if (!campaign) throw new AppError('not_found');
  if (campaign.confirmedAt) throw goalIsFrozen();
  // Before the pass, which then sees these versions or newer ones.
  const versions = await listListVersions(tx, { accountId, ids: campaign.contactListIds });
  const plan = await loadPlan(tx, { accountId, campaign });
  const { estimatedMicros, ...sums } = sumGoal(await listGoalRows(tx, plan), plan.mode, sourceOf(campaign, versions));
  const goal = { ...sums, prices: plan.prices };
  const listVersions = campaign.contactListIds.map((list) => versions.find((v) => v.id === list)?.version ?? 0);
  const counted = { goal, version: campaign.version, listVersions, estimatedMicros };
  if ((await updateGoal(tx, { accountId, id, ...counted })) === 0)
    throw (await findCampaign(tx, { accountId, id })) ? goalIsFrozen() : new AppError('not_found');
  const detail = { total: goal.total, estimatedMicros };
  await recordAudit(tx, actor, { action: 'campaign.goal', subject: `campaign:${id}`, detail });
}

const goalIsFrozen = () =>
  invalidFields([{ field: 'status', message: 'the campaign is confirmed: its goal is settled' }]);

function sourceOf(
  { destinationType, destinations, unreadable }: CampaignRow,
  lists: readonly { contactCount: number }[],
): AudienceSize {
  if (destinationType === 2) return { named: destinations.length, unreadable };
  return { named: lists.reduce((sum, { contactCount }) => sum + contactCount, 0), unreadable: 0 };
}
