/** The three channels of the specification, as its keys spell them. */
export const CHANNELS = ['SMS', 'RCS', 'WHATSAPP'] as const;
export type Channel = (typeof CHANNELS)[number];

/** As columns keep sets of channels: one bit each. */
const BITS: Readonly<Record<Channel, number>> = { SMS: 1, RCS: 2, WHATSAPP: 4 };

export const bitOf = (channel: Channel): number => BITS[channel];

export const toBits = (channels: Iterable<Channel>): number =>
  [...channels].reduce((bits, channel) => bits | bitOf(channel), 0);

export const toChannels = (bits: number): Channel[] => CHANNELS.filter((channel) => bits & BITS[channel]);

/** As a set, of which there are eight: this is read with each request. */
const SETS: readonly ReadonlySet<Channel>[] = Array.from({ length: 8 }, (_, bits) => new Set(toChannels(bits)));
const NONE: ReadonlySet<Channel> = new Set();

export const channelSet = (bits: number): ReadonlySet<Channel> => SETS[bits] ?? NONE;

/** Why channels may not be used, when the plan of an account does not have them all; for people. */
export function outsidePlan(plan: ReadonlySet<Channel>, wanted: readonly Channel[]): string | undefined {
  const missing = wanted.filter((channel) => !plan.has(channel));
  return missing.length > 0 ? `The plan of the account does not include ${missing.join(' and ')}` : undefined;
}
