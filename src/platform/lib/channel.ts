/** The three channels, named as in the specification. */
export const CHANNELS = ['SMS', 'RCS', 'WHATSAPP'] as const;
export type Channel = (typeof CHANNELS)[number];

/** Returns the number of charges for a message: one for each of its parts on SMS, one elsewhere. */
export const chargedUnits = (channel: Channel, parts: number): number => (channel === 'SMS' ? parts : 1);

/** Columns store a set of channels with one bit for each. */
const BITS: Readonly<Record<Channel, number>> = { SMS: 1, RCS: 2, WHATSAPP: 4 };

export const bitOf = (channel: Channel): number => BITS[channel];

export const toBits = (channels: Iterable<Channel>): number =>
  [...channels].reduce((bits, channel) => bits | bitOf(channel), 0);

export const toChannels = (bits: number): Channel[] => CHANNELS.filter((channel) => bits & BITS[channel]);

/** The eight possible sets by their bits, since they are read with each request. */
const SETS: readonly ReadonlySet<Channel>[] = Array.from({ length: 8 }, (_, bits) => new Set(toChannels(bits)));
const NONE: ReadonlySet<Channel> = new Set();

export const channelSet = (bits: number): ReadonlySet<Channel> => SETS[bits] ?? NONE;

/** Returns the error message if a plan lacks some of the wanted channels; undefined if it includes all of them. */
export function outsidePlanMessage(plan: ReadonlySet<Channel>, wanted: readonly Channel[]): string | undefined {
  const missing = wanted.filter((channel) => !plan.has(channel));
  return missing.length > 0 ? `The plan of the account does not include ${missing.join(' and ')}` : undefined;
}
