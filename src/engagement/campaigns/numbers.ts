import { channelsOf } from '../contacts/channels.ts';
import { mapInSlices, nextTurn } from '../../platform/lib/background/slices.ts';
import type { NumberRules } from '../../platform/lib/phone/number-rules.ts';
import { type PhoneDetails, parsePhone } from '../../platform/lib/phone/phone-details.ts';
import type { Numbers } from './sql.ts';

/**
 * Reads the numbers that a client sends. Returns the valid ones, each once, in byte order, with their countries and
 * channels. They are read as sends and contacts read them.
 */
export async function readNumbers(destinations: readonly string[], rules: NumberRules): Promise<Numbers> {
  const found = new Map<string, Pick<PhoneDetails, 'country'> & { channels: ReturnType<typeof channelsOf> }>();
  let unreadable = 0;
  await mapInSlices(destinations, (text) => {
    const phone = parsePhone(text, rules);
    if (phone?.isValid) found.set(phone.e164, { country: phone.country, channels: channelsOf(phone) });
    else unreadable++;
  });
  // The plain sort takes 35 ms for 100,000 numbers, half the time of one with a function.
  const numbers = [...found.keys()].sort();
  await nextTurn();
  const countries = await mapInSlices(numbers, (number) => found.get(number)?.country ?? '');
  const channels = await mapInSlices(numbers, (number) => found.get(number)?.channels ?? 0);
  return { numbers, countries, channels, unreadable };
}

/** Lists the destinations that are not a valid number, as they were given. */
export async function listUnreadable(destinations: readonly string[], rules: NumberRules): Promise<string[]> {
  const wrong = await mapInSlices(destinations, (text) => (parsePhone(text, rules)?.isValid ? [] : [text]));
  return wrong.flat();
}
