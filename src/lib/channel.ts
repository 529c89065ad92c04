/** The three channels of the specification, as its keys spell them. */
export const CHANNELS = ['SMS', 'RCS', 'WHATSAPP'] as const;
export type Channel = (typeof CHANNELS)[number];

/** As columns keep sets of channels: one bit each. */
const BITS: Readonly<Record<Channel, number>> = { SMS: 1, RCS: 2, WHATSAPP: 4 };

export const bitOf = (channel: Channel): number => BITS[channel];

export const toChannels = (bits: number): Channel[] => CHANNELS.filter((channel) => bits & BITS[channel]);
