import type { Result } from '../../network/dispatch/commit.ts';
import type { FindCost } from '../../network/costs/cost-list.ts';
import { chargedUnits } from '../../platform/lib/channel.ts';
import type { MarginDelta } from '../traffic/margins/count.ts';
import type { EarningPlace } from '../traffic/margins/sql.ts';
import type { Traits } from './figures.ts';

/** Facts besides the outcome on which its margin depends. */
type Facts = {
  readonly traits: Traits;
  /** True if the outcome replaces the unknown one of the same attempt, for which a cost was counted. */
  readonly replacesUnknown: boolean;
  /** True if the price is earned with the outcome. */
  readonly isEarned: boolean;
};

/**
 * Returns the additions of recorded outcomes to the margins. The carrier charges for accepted messages, and may charge
 * for unanswered ones; the parts before a rejected one count. A cost is reversed once the carrier proves not to have
 * taken the message.
 */
export const marginsOfOutcomes = (
  results: readonly Result[],
  factsOf: (result: Result) => Facts,
  findCost: FindCost,
): MarginDelta[] =>
  results.flatMap((result) => {
    const { accountId, messageId, connectionId, job } = result;
    const { traits, replacesUnknown, isEarned } = factsOf(result);
    const whole = chargedUnits(traits.channel, job?.parts ?? traits.parts);
    const now = unitsOf(result, whole);
    const units = now - (replacesUnknown ? whole : 0);
    const messages = Number(now > 0) - Number(replacesUnknown);
    const earnedMicros = isEarned ? (job?.priceMicros ?? 0) : 0;
    if (units === 0 && messages === 0 && earnedMicros === 0) return [];
    const destination = job?.destination ?? traits.destination;
    const unitMicros = findCost(connectionId, destination, networkOf(job, traits));
    const uncosted = unitMicros === null ? messages : 0;
    const costMicros = (unitMicros ?? 0) * units;
    return [
      { accountId, id: messageId, connectionId, destination, messages, units, uncosted, earnedMicros, costMicros },
    ];
  });

const networkOf = (job: Result['job'], traits: Traits): string | null => job?.network ?? traits.network ?? null;

/** Returns the number of units that a carrier charges after an outcome; `whole` for the whole message. */
function unitsOf({ outcome }: Result, whole: number): number {
  if (outcome.kind === 'retry') return 0;
  return outcome.kind === 'refused' ? Math.min(outcome.carrierIds.length, whole) : whole;
}

type Unsent = {
  readonly accountId: number;
  readonly connectionId: number;
  readonly traits: Traits & { readonly id: string };
};

/**
 * Returns the correction of the margins for a message that a carrier never got, although it might have had all parts.
 */
export function marginOfNothing({ accountId, connectionId, traits }: Unsent, findCost: FindCost): MarginDelta {
  const { id, channel, destination, parts, network } = traits;
  const units = chargedUnits(channel, parts);
  const unitMicros = findCost(connectionId, destination, network);
  return {
    accountId,
    id,
    connectionId,
    destination,
    messages: -1,
    units: -units,
    uncosted: unitMicros === null ? -1 : 0,
    earnedMicros: 0,
    costMicros: -(unitMicros ?? 0) * units,
  };
}

type Earning = { readonly accountId: number; readonly id: string; readonly micros: number };

/** Returns the additions of prices that are earned only with the end of their messages to the margins. */
export function marginsOfEarnings(earned: readonly Earning[], places: readonly EarningPlace[]): MarginDelta[] {
  const bills = new Map(earned.map((bill) => [bill.id, bill]));
  return places.flatMap(({ id, connectionId, destination }) => {
    const bill = bills.get(id);
    if (!bill) return [];
    const nothing = { messages: 0, units: 0, uncosted: 0, costMicros: 0 };
    return [{ accountId: bill.accountId, id, connectionId, destination, ...nothing, earnedMicros: bill.micros }];
  });
}
