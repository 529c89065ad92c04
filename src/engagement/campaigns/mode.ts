import { bitOf, type Channel } from '../../platform/lib/channel.ts';

/** The channels of each sending mode, in the order in which a recipient is tried on them. */
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

export const chainOf = (mode: SendingMode): readonly Channel[] => CHAINS[mode];

/** Whether a recipient who is not reached on one channel is tried on another. */
export const isCombined = (mode: SendingMode): boolean => CHAINS[mode].length > 1;

/** Its channels as columns keep them. */
export const bitsOf = (mode: SendingMode): number => CHAINS[mode].reduce((bits, channel) => bits | bitOf(channel), 0);
