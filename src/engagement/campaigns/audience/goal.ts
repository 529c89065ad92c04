import type { Channel } from '../../../platform/lib/channel.ts';
import { bitOf } from '../../../platform/lib/channel.ts';
import { chainOf, type SendingMode } from '../mode.ts';
import type { GoalRow, PlanPrice, SkipReason } from './sql.ts';

/** So many messages of a channel to a country, of so many parts, and what they cost at most. */
export type BreakdownLine = {
  readonly channel: Channel;
  /** ISO 3166-1 alpha-2; '' where numbers belong to none. */
  readonly country: string;
  readonly parts: number;
  readonly count: number;
  /** A part on SMS, a message elsewhere. */
  readonly unitMicros: number;
  readonly priceMicros: number;
};

/** What a campaign would reach and cost, as the column `goal` keeps it. */
export type Goal = {
  /** Distinct numbers that something is sent to. */
  readonly total: number;
  /** Distinct numbers that nothing is sent to. */
  readonly skippedTotal: number;
  /** Why, `duplicate` besides: the same number in another list, or named again. */
  readonly skipped: Readonly<Record<SkipReason | 'duplicate', number>>;
  /** Of the skipped: contacts without a number and what is no number; they become no recipients. */
  readonly unlisted: number;
  readonly breakdown: readonly BreakdownLine[];
  /** The price list that it was counted with: it stays in force for the campaign. */
  readonly prices: readonly PlanPrice[];
};

/** What the lists or numbers of a campaign hold beside the candidates themselves. */
export type AudienceSize = {
  /** Contacts of all lists together, or numbers as they were named. */
  readonly named: number;
  /** Of those named, what is no number at all. */
  readonly unreadable: number;
};

type Sums = Omit<Goal, 'prices'> & { readonly estimatedMicros: number };

/** Adds the counts of one pass up. The price is the sum of the breakdown, exact to the micro-unit. */
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

/** A recipient of a combined mode counts for each channel that its share of the reserve pays for. */
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
