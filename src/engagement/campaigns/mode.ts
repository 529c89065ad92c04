import { bitOf, type Channel } from '../../platform/lib/channel.ts';

/** The channels of each sending mode, in the order in which they are tried for a recipient. */
const CHAINS = {
  SMS: ['SMS'],
  RCS: ['RCS'],
  WHATSAPP: ['WHATSAPP'],
  RCS_SMS: ['RCS', 'SMS'],
  WHATSAPP_SMS: ['WHATSAPP', 'SMS'],
  WHATSAPP_RCS: ['WHATSAPP', 'RCS'],
  WHATSAPP_RCS_SMS: ['WHATSAPP', 'RCS', 'SMS'],
} as const satisfies Readonly<Record<string, readonly Channel[]>>;

export type SendingMode = keyof typeof CHAINS;
export const SENDING_MODES = Object.keys(CHAINS) as readonly SendingMode[];

/** Returns the channels of a mode, in the order in which they are tried. */
export const chainOf = (mode: SendingMode): readonly Channel[] => CHAINS[mode];

/** Returns true if a mode has several channels: a recipient who is not reached on one is tried on the next. */
export const isCombined = (mode: SendingMode): boolean => CHAINS[mode].length > 1;

/** Returns the channels of a mode as the set of bits that columns store. */
export const bitsOf = (mode: SendingMode): number => CHAINS[mode].reduce((bits, channel) => bits | bitOf(channel), 0);
