/** The three channels of the specification, as its keys spell them. */
export const CHANNELS = ['SMS', 'RCS', 'WHATSAPP'] as const;
export type Channel = (typeof CHANNELS)[number];
