import type { Static } from 'typebox';
import { fromMicros } from '../../platform/lib/money.ts';
import { formatScheduledDate } from '../../platform/lib/scheduled-date.ts';
import { isCombined } from './mode.ts';
import type { CampaignOut, PriceOut } from './schema.ts';
import type { CampaignEntry, CampaignRow } from './sql.ts';
import { CAMPAIGN } from './states.ts';

const toIso = (date: Date | null): string | null => date?.toISOString() ?? null;

/** How fast a campaign is being sent, and how long that will still take; null while it is not being sent. */
export type Pace = { readonly ratePerSecond: number | null; readonly estimatedSecondsLeft: number | null };

export const NO_PACE: Pace = { ratePerSecond: null, estimatedSecondsLeft: null };

/** Converts a campaign to its form in a list, without its destinations. */
export function toEntryOut(row: CampaignEntry, pace: Pace = NO_PACE): Static<typeof CampaignOut> {
  const { scheduledAt, goal, goalAt, goalFresh } = row;
  return {
    ...toSettingsOut(row),
    id: row.id,
    status: row.status,
    scheduledDate: scheduledAt && formatScheduledDate(scheduledAt),
    ...toTotalsOut(row),
    ...pace,
    skipped: goal && toSkipped(goal.skipped),
    estimatedCost: fromMicros(row.estimatedMicros),
    actualCost: fromMicros(row.costMicros),
    currency: row.currency,
    goalCalculatedAt: goalFresh || row.confirmedAt ? toIso(goalAt) : null,
    failureReason: row.failureReason,
    paused: row.pausedAt !== null,
    cancelled: row.cancelledAt !== null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    confirmedAt: toIso(row.confirmedAt),
    startedAt: toIso(row.startedAt),
    completedAt: toIso(row.completedAt),
  };
}

/** Converts a campaign to its form in the API. */
export const toCampaignOut = (row: CampaignRow, pace?: Pace): Static<typeof CampaignOut> => ({
  ...toEntryOut(row, pace),
  destinations: row.destinations,
});

function toSettingsOut(row: CampaignEntry) {
  const { name, description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, whatsappPhoneNumberId } = row;
  const { whatsappTemplateId, contactListIds, destinationType, readyToSend, fallback } = row;
  return {
    name,
    description,
    sendingMode,
    smsSender,
    smsBody,
    rcsAgentId,
    rcsTemplateId,
    whatsappPhoneNumberId,
    whatsappTemplateId,
    contactListIds,
    destinationType,
    readyToSend,
    fallback,
    quietHours: row.quietHours,
    rate: row.rate,
  };
}

const toSkipped = ({ opted_out, no_route, no_price, ...rest }: NonNullable<CampaignEntry['goal']>['skipped']) => ({
  ...rest,
  optedOut: opted_out,
  noRoute: no_route,
  noPrice: no_price,
});

/**
 * Counts what became of the recipients: from the hourly figures in single modes, from the ends of chains in combined
 * ones.
 */
function toTotalsOut(row: CampaignEntry) {
  const { totalDestinations } = row;
  const { totalSuccess, totalFailed } = countFinalStates(row);
  const { everybody, totalSkipped } = countAllRecipients(row);
  const totalPending = Math.max(0, everybody - totalSkipped - totalSuccess - totalFailed);
  const ended = totalSuccess + totalFailed;
  const progress = hasEnded(row) ? 1 : ended === 0 ? 0 : ended / (ended + totalPending);
  return { totalDestinations, totalSuccess, totalFailed, totalPending, totalSkipped, progress };
}

function countFinalStates({ run, sendingMode, delivered, failed }: CampaignEntry) {
  if (!isCombined(sendingMode)) return { totalSuccess: delivered, totalFailed: failed };
  return { totalSuccess: run?.delivered ?? 0, totalFailed: run ? run.ended - run.delivered : 0 };
}

/** Counts all recipients, and those who are skipped; until they are created, as the goal counted them. */
export function countAllRecipients({ run, goal, totalDestinations }: CampaignEntry) {
  if (run?.expanded) return { everybody: run.recipients, totalSkipped: run.skipped };
  const totalSkipped = goal?.skippedTotal ?? 0;
  return { everybody: totalDestinations + totalSkipped, totalSkipped };
}

const hasEnded = ({ status }: CampaignEntry): boolean => status === CAMPAIGN.COMPLETED || status === CAMPAIGN.FAILED;

/** Converts the price of a campaign. A price that is stale is included, with `calculated` false. */
export function toPriceOut(row: CampaignEntry): Static<typeof PriceOut> {
  const { goal } = row;
  return {
    campaignId: row.id,
    price: fromMicros(row.estimatedMicros),
    currency: row.currency,
    totalDestinations: row.totalDestinations,
    calculated: goal !== null && (row.goalFresh || row.confirmedAt !== null),
    calculatedAt: toIso(row.goalAt),
    breakdown: (goal?.breakdown ?? []).map(({ unitMicros, priceMicros, ...line }) => ({
      ...line,
      unitPrice: fromMicros(unitMicros),
      price: fromMicros(priceMicros),
    })),
  };
}
