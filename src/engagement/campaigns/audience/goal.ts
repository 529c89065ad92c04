import type { Channel } from '../../../platform/lib/channel.ts';
import { bitOf } from '../../../platform/lib/channel.ts';
import { chainOf, type SendingMode } from '../mode.ts';
import type { GoalRow, PlanPrice, SkipReason } from './sql.ts';

/** Number of messages of a channel to a country with the same number of parts, and their maximum cost. */
export type BreakdownLine = {
  readonly channel: Channel;
  /** ISO 3166-1 alpha-2; '' for numbers that belong to no country. */
  readonly country: string;
  readonly parts: number;
  readonly count: number;
  /** The price of a part on SMS, of a message on other channels. */
  readonly unitMicros: number;
  readonly priceMicros: number;
};

/** Recipients that a campaign would reach and their cost, as the column `goal` stores it. */
export type Goal = {
  /** Distinct numbers to which something is sent. */
  readonly total: number;
  /** Distinct numbers to which nothing is sent. */
  readonly skippedTotal: number;
  /** Number of skipped recipients for each reason. `duplicate`: the same number in another list, or given again. */
  readonly skipped: Readonly<Record<SkipReason | 'duplicate', number>>;
  /**
   * Number of skipped entries that do not become recipients: contacts without a number, and texts that are not a number
   * at all.
   */
  readonly unlisted: number;
  readonly breakdown: readonly BreakdownLine[];
  /** The price list that was used: it stays in force for the campaign. */
  readonly prices: readonly PlanPrice[];
};

/** Number of entries in the lists or numbers of a campaign, before duplicates and unreadable numbers are excluded. */
export type AudienceSize = {
  /** The contacts of all lists together, or the numbers as they were given. */
  readonly named: number;
  /** Number of entries that are not a number at all. */
  readonly unreadable: number;
};

type Sums = Omit<Goal, 'prices'> & { readonly estimatedMicros: number };

/** Adds up the counts of one pass. The estimate is the sum of the breakdown, exact to the micro-unit. */
export function sumGoal(rows: readonly GoalRow[], mode: SendingMode, { named, unreadable }: AudienceSize): Sums {
  const countOf = (fits: (row: GoalRow) => boolean): number =>
    rows.reduce((sum, row) => sum + (fits(row) ? row.count : 0), 0);
  const skip = (reason: SkipReason): number => countOf((row) => row.reason === reason);
  const distinct = countOf(() => true);
  const breakdown = breakDown(rows, mode);
  return {
    total: countOf((row) => row.reason === null),
    skippedTotal: countOf((row) => row.reason !== null) + unreadable,
    skipped: {
      invalid: skip('invalid') + unreadable,
      unsupported: skip('unsupported'),
      opted_out: skip('opted_out'),
      text: skip('text'),
      no_route: skip('no_route'),
      no_price: skip('no_price'),
      duplicate: Math.max(0, named - unreadable - distinct),
    },
    unlisted: countOf((row) => row.numberless) + unreadable,
    breakdown,
    estimatedMicros: breakdown.reduce((sum, line) => sum + line.priceMicros, 0),
  };
}

/** Breaks the estimate down. A recipient of a combined mode counts for each channel that its reserve pays for. */
function breakDown(rows: readonly GoalRow[], mode: SendingMode): BreakdownLine[] {
  const lines = new Map<string, BreakdownLine>();
  for (const row of rows.filter(({ reason }) => reason === null))
    for (const [i, channel] of chainOf(mode).entries()) {
      const unitMicros = row.unitMicros[i] ?? null;
      const share = row.shareMicros[i] ?? 0;
      if (unitMicros === null || !(row.channels & bitOf(channel)) || (share === 0 && unitMicros > 0)) continue;
      const parts = channel === 'SMS' ? row.parts : 1;
      const key = `${channel}/${row.country}/${parts}/${unitMicros}`;
      const known = lines.get(key);
      const count = (known?.count ?? 0) + row.count;
      lines.set(key, {
        channel,
        country: row.country,
        parts,
        count,
        unitMicros,
        priceMicros: count * unitMicros * parts,
      });
    }
  return [...lines.values()];
}
