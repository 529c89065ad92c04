import { setImmediate as nextTurn } from 'node:timers/promises';
import { channelsOf } from '../contacts/channels.ts';
import { type PhoneDetails, readPhone } from '../../platform/lib/phone-details.ts';
import type { Numbers } from './sql.ts';

/** About 10 ms of reading, then others get their turn. */
const NUMBERS_PER_TURN = 1000;

/**
 * The valid ones of the numbers that a client names, each once, in the order of their bytes, with country and channels.
 * National forms are understood where the account has a country (src/engagement/contacts/book/sql.ts).
 */
export async function readNumbers(destinations: readonly string[], defaultCountry: string | null): Promise<Numbers> {
  const found = new Map<string, PhoneDetails>();
  let unreadable = 0;
  for (const [i, text] of destinations.entries()) {
    const phone = readPhone(text, defaultCountry);
    if (phone?.isValid) found.set(phone.e164, phone);
    else unreadable++;
    if (i % NUMBERS_PER_TURN === NUMBERS_PER_TURN - 1) await nextTurn();
  }
  const sorted = [...found.values()].sort((a, b) => (a.e164 < b.e164 ? -1 : 1));
  return {
    numbers: sorted.map(({ e164 }) => e164),
    countries: sorted.map(({ country }) => country ?? ''),
    channels: sorted.map(channelsOf),
    unreadable,
  };
}
