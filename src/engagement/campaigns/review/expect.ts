import { bitOf, type Channel } from '../../../platform/lib/channel.ts';
import type { GoalRow } from '../audience/sql.ts';

/** The share of messages that were delivered on each channel, from 0 to 1; omitted if unknown. */
export type DeliveryRates = Readonly<Partial<Record<Channel, number>>>;

/** Expected figures of a channel of a campaign. */
export type ChannelExpectation = {
  readonly channel: Channel;
  /** Recipients who can be reached on it, whether or not it is tried first for them. */
  readonly reachable: number;
  /** Recipients for whom it is the first channel. */
  readonly first: number;
  /** Estimated number of recipients who will be tried on it. */
  readonly tried: number;
  readonly expectedMicros: number;
  /** Its cost if every recipient who can be reached on it gets the message there. */
  readonly allMicros: number;
};

/**
 * Estimates the load of each channel of a chain, from the counts of one pass over the recipients (`rows`) and the share
 * of messages that are delivered. A recipient is tried on a channel if none of those before it has delivered. If no
 * rate is known, every message is assumed to be delivered. A price is expected in full, except if it is returned for
 * undelivered messages.
 */
export function expectChannels(
  rows: readonly GoalRow[],
  chain: readonly Channel[],
  rates: DeliveryRates,
): ChannelExpectation[] {
  const found = chain.map((channel) => ({ channel, ...NOTHING }));
  for (const row of rows) {
    if (row.reason !== null) continue;
    let left = row.count;
    for (const [i, each] of found.entries()) {
      if (!(row.channels & bitOf(each.channel))) continue;
      const rate = rates[each.channel] ?? 1;
      const micros = (row.unitMicros[i] ?? 0) * (each.channel === 'SMS' ? row.parts : 1);
      each.reachable += row.count;
      if (isFirst(row, chain, i)) each.first += row.count;
      each.tried += left;
      each.expectedMicros += left * micros * (row.refunds[i] === true ? rate : 1);
      each.allMicros += row.count * micros;
      left *= 1 - rate;
    }
  }
  return found.map(({ tried, expectedMicros, ...each }) => ({
    ...each,
    tried: Math.round(tried),
    expectedMicros: Math.round(expectedMicros),
  }));
}

const isFirst = ({ channels }: GoalRow, chain: readonly Channel[], i: number): boolean =>
  chain.slice(0, i).every((channel) => !(channels & bitOf(channel)));

const NOTHING = { reachable: 0, first: 0, tried: 0, expectedMicros: 0, allMicros: 0 };
