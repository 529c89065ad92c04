import { setImmediate as nextTurn } from 'node:timers/promises';
import { channelsOf } from '../contacts/channels.ts';
import { type PhoneDetails, parsePhone } from '../../platform/lib/phone/phone-details.ts';
import type { Numbers } from './sql.ts';

/** About 10 ms of work, after which other requests get their turn. */
const NUMBERS_PER_TURN = 1000;

/**
 * Reads the numbers that a client sends. Returns the valid ones, each once, in byte order, with their countries and
 * channels. National numbers are understood if the account has a default country (src/engagement/contacts/book/sql.ts).
 */
export async function readNumbers(destinations: readonly string[], defaultCountry: string | null): Promise<Numbers> {
  const found = new Map<string, PhoneDetails>();
  let unreadable = 0;
  for (const [i, text] of destinations.entries()) {
    const phone = parsePhone(text, defaultCountry);
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
