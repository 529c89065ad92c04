import { recordAudit } from '../../../identity/audit/record.ts';
import { freeze } from '../../../money/credit/charge.ts';
import { isShortage } from '../../../money/credit/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { seesAmounts } from '../../../platform/lib/amounts.ts';
import { fromMicros } from '../../../platform/lib/money.ts';
import { checkSettings, checkTemplates, refuseWithoutScope } from '../check.ts';
import { type CampaignRow, claimCampaign, claimListsForShare, findCampaign, wakeCampaign } from '../sql.ts';
import { findSmsRoute, insertJob, insertRun, moveToConfirmed } from './sql.ts';

type AtTime = { readonly now: Date };

/**
 * Confirms a campaign, which cannot be undone: freezes its price and notifies the workers, in the caller's transaction.
 * Of several confirmations only one succeeds. The lists for which the price was calculated cannot change until the
 * transaction ends. Errors: 400 with every unmet precondition, 403 without the scopes of its channels, 404.
 */
export async function confirmCampaign(tx: Db, actor: Actor, { id, now }: AtTime & { id: number }): Promise<void> {
  const one = { accountId: actor.accountId, id };
  const claimed = await claimCampaign(tx, one);
  if (!claimed) throw new AppError('not_found');
  await claimListsForShare(tx, { ...one, ids: claimed.contactListIds });
  const campaign = await findCampaign(tx, one);
  if (!campaign) throw new AppError('not_found');
  refuseWithoutScope(actor, campaign);
  const faults = await unmetPreconditions(tx, actor, campaign, now);
  if (faults.length > 0) throw invalidFields(faults);
  await moveAndFreeze(tx, actor, campaign);
}

/** Confirms and freezes. The credit comes last: all traffic of the account shares its row. */
async function moveAndFreeze(tx: Db, actor: Actor, campaign: CampaignRow): Promise<void> {
  const { accountId, keyId, userId } = actor;
  const { id, version, estimatedMicros, goal } = campaign;
  const by = { keyId, userId: keyId === null ? userId : null };
  const confirmed = await moveToConfirmed(tx, { accountId, id, version, reservedMicros: estimatedMicros, by });
  if (confirmed === 0) throw invalidFields([alreadyConfirmed]);
  await insertRun(tx, { accountId, id, unusedMicros: estimatedMicros, unlisted: goal?.unlisted ?? 0 });
  await insertJob(tx, { accountId, id });
  const detail = { total: goal?.total, reservedMicros: estimatedMicros };
  await recordAudit(tx, actor, { action: 'campaign.confirm', subject: `campaign:${id}`, detail });
  await wakeCampaign(tx, { campaignId: id });
  await freeze(tx, [{ accountId, micros: estimatedMicros }], `campaign:${id}`).catch((error: unknown) => {
    throw isShortage(error) ? invalidFields([insufficientCredit(actor, campaign)]) : error;
  });
}

const alreadyConfirmed: FieldError = { field: 'status', message: 'the campaign is already confirmed' };

async function unmetPreconditions(tx: Db, actor: Actor, campaign: CampaignRow, now: Date): Promise<FieldError[]> {
  const { accountId } = actor;
  if (campaign.confirmedAt) return [alreadyConfirmed];
  return [
    ...(campaign.readyToSend ? [] : [{ field: 'readyToSend', message: 'must be true' }]),
    ...(await checkSettings(tx, { accountId, settings: campaign })),
    ...(await checkTemplates(tx, { accountId, settings: campaign })).map(({ field, message }) => ({ field, message })),
    ...recipientFaults(campaign),
    ...dateFaults(campaign, now),
    ...(await routeFaults(tx, accountId, campaign)),
    ...goalFaults(actor, campaign),
  ];
}

const recipientFaults = ({ destinationType }: CampaignRow): FieldError[] =>
  destinationType === null
    ? [{ field: 'contactListIds', message: 'is required unless there are numbers in destinations' }]
    : [];

const dateFaults = ({ scheduledAt }: CampaignRow, now: Date): FieldError[] =>
  scheduledAt && scheduledAt <= now ? [{ field: 'scheduledDate', message: 'must be in the future' }] : [];

/**
 * Checks that SMS still have a route: it may have been removed since the goal was calculated. Other channels need none.
 */
async function routeFaults(tx: Db, accountId: number, { goal }: CampaignRow): Promise<FieldError[]> {
  const counted = goal?.breakdown.some(({ channel }) => channel === 'SMS') ?? false;
  if (!counted || (await findSmsRoute(tx, { accountId }))) return [];
  return [{ field: 'sendingMode', message: 'there is no longer a route for SMS' }];
}

/**
 * Checks that the price was calculated for what would be sent now, that at least one recipient is reached, and that the
 * price is within the credit.
 */
function goalFaults(actor: Actor, campaign: CampaignRow): FieldError[] {
  const { goal, goalFresh, estimatedMicros, availableMicros } = campaign;
  if (!goal) return [{ field: 'goal', message: 'the cost has not been calculated: call calculateGoal' }];
  if (!goalFresh)
    return [
      {
        field: 'goal',
        message: 'recipients, mode or content have changed since the cost was calculated: call calculateGoal again',
      },
    ];
  if (goal.total === 0) return [{ field: 'destinations', message: nobodyReachable(goal.skipped) }];
  return availableMicros !== null && availableMicros < estimatedMicros ? [insufficientCredit(actor, campaign)] : [];
}

function nobodyReachable(skipped: Readonly<Record<string, number>>): string {
  const reasons = Object.entries(skipped).flatMap(([reason, count]) => (count > 0 ? [`${reason} ${count}`] : []));
  return `no recipient can be reached${reasons.length > 0 ? ` (${reasons.join(', ')})` : ''}`;
}

const insufficientCredit = (actor: Actor, { estimatedMicros, availableMicros, currency }: CampaignRow): FieldError => ({
  field: 'credit',
  message: seesAmounts(actor)
    ? `is insufficient: the campaign costs up to ${fromMicros(estimatedMicros)} ${currency}, and ${fromMicros(availableMicros ?? 0)} is available`
    : 'is insufficient',
});
