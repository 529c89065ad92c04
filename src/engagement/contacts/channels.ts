import { bitOf } from '../../platform/lib/channel.ts';
import type { PhoneDetails } from '../../platform/lib/phone-details.ts';

const [SMS, RCS, WHATSAPP] = [bitOf('SMS'), bitOf('RCS'), bitOf('WHATSAPP')];
const ALL = SMS | RCS | WHATSAPP;

type Kind = NonNullable<PhoneDetails['type']>;

/**
 * What a number of each type can be reached on, before any carrier has said otherwise. WhatsApp Business is registered
 * with fixed lines too; texts and RCS reach handsets only. Numbers that are called for a service (freephone, premium,
 * shared cost, pagers, voicemail) are nobody's to write to.
 */
const OF_TYPE: Readonly<Partial<Record<Kind, number>>> = {
  MOBILE: ALL,
  FIXED_LINE_OR_MOBILE: ALL,
  FIXED_LINE: WHATSAPP,
  VOIP: SMS | WHATSAPP,
  PERSONAL_NUMBER: SMS | WHATSAPP,
};

/** Nothing without a number, or with one that its country has not. A valid number of unknown type may be a handset's. */
export function channelsOf(phone: PhoneDetails | null): number {
  if (!phone?.isValid) return 0;
  return phone.type === null ? ALL : (OF_TYPE[phone.type] ?? 0);
}
