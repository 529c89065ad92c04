import type { TFunction } from 'i18next';
import { chainOf, type SendingMode } from './campaign.ts';

/** The channels of a sending mode by name, in order: "WhatsApp → SMS". */
export const modeName = (t: TFunction<'campaigns'>, mode: SendingMode): string =>
  chainOf(mode)
    .map((channel) => t(`ui:channel.${channel}`))
    .join(' → ');
