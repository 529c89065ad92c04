import { createMeter } from '../../platform/lib/limits/meter.ts';
import { type Pace, countAllRecipients, NO_PACE } from './answer.ts';
import { isCombined } from './mode.ts';
import type { CampaignEntry } from './sql.ts';
import { CAMPAIGN } from './states.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';

type Account = { readonly accountId: number };
export type FindPace = (account: Account, campaign: CampaignEntry, now: Date) => Pace;

/**
 * Creates a function that measures the pace of campaigns. Rates cover the last minute, if this process was asked within
 * it, and otherwise the time since the start of the campaign. In single modes, the remaining recipients are those whose
 * message no carrier has yet; in combined modes, whose chains may continue, those without a final result.
 */
export function createPaceMeter(): FindPace {
  const meter = createMeter();
  return ({ accountId }, campaign, now) => {
    const { id, status, startedAt, pausedAt, cancelledAt, handled, run } = campaign;
    if (status !== CAMPAIGN.SENDING || pausedAt || cancelledAt || !startedAt || !run) return NO_PACE;
    const counts = [handled, isCombined(campaign.sendingMode) ? run.ended : handled];
    const rates = meter.read(`${accountId}/${id}`, now, counts) ?? meansSince(startedAt, now, counts);
    const [rate = 0, advance = 0] = rates;
    const { everybody, totalSkipped } = countAllRecipients(campaign);
    const left = Math.max(0, everybody - totalSkipped - (counts[1] ?? 0));
    return { ratePerSecond: round(rate), estimatedSecondsLeft: advance > 0 ? Math.ceil(left / advance) : null };
  };
}

const meansSince = (start: Date, now: Date, counts: readonly number[]): number[] =>
  counts.map((count) => count / Math.max(1, (now.getTime() - start.getTime()) / SECOND_MS));

/** Rounds to one decimal. */
const round = (rate: number): number => Math.round(rate * 10) / 10;
