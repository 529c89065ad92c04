import { bitOf } from '../../platform/lib/channel.ts';
import type { PhoneDetails } from '../../platform/lib/phone/phone-details.ts';

const [SMS, RCS, WHATSAPP] = [bitOf('SMS'), bitOf('RCS'), bitOf('WHATSAPP')];
const ALL = SMS | RCS | WHATSAPP;

type Kind = NonNullable<PhoneDetails['type']>;

/**
 * The channels on which a number of each type can be reached, until carriers report otherwise. WhatsApp Business can be
 * registered with fixed lines too; SMS and RCS only reach handsets. No person can be reached at numbers of services
 * (freephone, premium, shared cost, pagers, voicemail).
 */
const OF_TYPE: Readonly<Partial<Record<Kind, number>>> = {
  MOBILE: ALL,
  FIXED_LINE_OR_MOBILE: ALL,
  FIXED_LINE: WHATSAPP,
  VOIP: SMS | WHATSAPP,
  PERSONAL_NUMBER: SMS | WHATSAPP,
};

/**
 * Returns the bits of the channels on which a number can be reached: none without a number, or if it is not valid in
 * its country; all for a valid number of unknown type, which may be a handset.
 */
export function channelsOf(phone: PhoneDetails | null): number {
  if (!phone?.isValid) return 0;
  return phone.type === null ? ALL : (OF_TYPE[phone.type] ?? 0);
}
