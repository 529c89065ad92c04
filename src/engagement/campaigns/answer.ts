import type { Static } from 'typebox';
import { amountFor, type AmountReader } from '../../platform/lib/amounts.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { formatScheduledDate } from '../../platform/lib/scheduled-date.ts';
import { GIVE_UP_AFTER_MS } from '../../messaging/messages/validity.ts';
import { isCombined } from './mode.ts';
import type { CampaignOut, PriceOut } from './schema.ts';
import type { CampaignEntry, CampaignRow } from './sql.ts';
import { CAMPAIGN } from './states.ts';

const toIso = (date: Date | null): string | null => date?.toISOString() ?? null;

/** Current sending rate of a campaign and its remaining time; null while it is not being sent. */
export type Pace = { readonly ratePerSecond: number | null; readonly estimatedSecondsLeft: number | null };

export const NO_PACE: Pace = { ratePerSecond: null, estimatedSecondsLeft: null };

/** Converts a campaign to its form in a list, without its destinations, as this caller may see it. */
export function toEntryOut(row: CampaignEntry, reader: AmountReader, pace: Pace = NO_PACE): Static<typeof CampaignOut> {
  const { scheduledAt, goal, goalAt, goalFresh } = row;
  return {
    ...toSettingsOut(row),
    id: row.id,
    status: row.status,
    scheduledDate: scheduledAt && formatScheduledDate(scheduledAt),
    ...toTotalsOut(row),
    ...pace,
    ...toOpenOut(row),
    skipped: goal && toSkipped(goal.skipped),
    estimatedCost: amountFor(reader, row.estimatedMicros),
    actualCost: amountFor(reader, row.costMicros),
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

/** Converts a campaign to its form in the API, as this caller may see it. */
export const toCampaignOut = (row: CampaignRow, reader: AmountReader, pace?: Pace): Static<typeof CampaignOut> => ({
  ...toEntryOut(row, reader, pace),
  destinations: row.destinations,
});

function toSettingsOut(row: CampaignEntry) {
  const { name, description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, whatsappPhoneNumberId } = row;
  const { rcsTrafficType, whatsappTemplateId, contactListIds, destinationType, readyToSend, fallback } = row;
  return {
    name,
    description,
    sendingMode,
    smsSender,
    smsBody,
    rcsAgentId,
    rcsTemplateId,
    rcsTrafficType,
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

/**
 * Counts the messages without a final state, and finds when the last of them is abandoned: a campaign with one phone
 * that is switched off is being sent until then.
 */
function toOpenOut({ run, status, delivered, failed, pausedAt, lastMessagesAt }: CampaignEntry) {
  const openMessages = run ? Math.max(0, run.messages - delivered - failed) : 0;
  const isWaiting = status === CAMPAIGN.SENDING && pausedAt === null && run?.produced === true && openMessages > 0;
  const completesBy = isWaiting && lastMessagesAt && new Date(lastMessagesAt.getTime() + GIVE_UP_AFTER_MS);
  return { openMessages, completesBy: completesBy ? completesBy.toISOString() : null };
}

/** Counts the skipped recipients for each reason, by the names of the API. */
export const toSkipped = ({
  opted_out,
  no_route,
  no_price,
  ...rest
}: NonNullable<CampaignEntry['goal']>['skipped']) => ({
  ...rest,
  optedOut: opted_out,
  noRoute: no_route,
  noPrice: no_price,
});

/**
 * Counts the recipients by outcome: from the hourly figures in single modes, from the ends of chains in combined ones.
 */
function toTotalsOut(row: CampaignEntry) {
  const { totalDestinations } = row;
  const { totalSuccess, totalFailed } = countFinalStates(row);
  const { everybody, totalSkipped } = countAllRecipients(row);
  const totalCancelled = row.run ? row.run.unmade + row.run.withdrawn : 0;
  const ended = totalSuccess + totalFailed + totalCancelled;
  const totalPending = Math.max(0, everybody - totalSkipped - ended);
  const progress = hasEnded(row) ? 1 : ended === 0 ? 0 : ended / (ended + totalPending);
  const totalDeliveredTwice = row.run?.deliveredTwice ?? 0;
  const reached = { totalSuccess, totalFailed, totalDeliveredTwice };
  return { totalDestinations, ...reached, totalPending, totalSkipped, totalCancelled, progress };
}

function countFinalStates({ run, sendingMode, delivered, failed }: CampaignEntry) {
  const withdrawn = run?.withdrawn ?? 0;
  if (!isCombined(sendingMode)) return { totalSuccess: delivered, totalFailed: failed - withdrawn };
  return { totalSuccess: run?.delivered ?? 0, totalFailed: run ? run.ended - run.delivered - withdrawn : 0 };
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
