import { type FieldError, invalidFields } from '../../platform/errors.ts';
import { parseInstant } from '../../platform/lib/instant.ts';

/**
 * Reads fields that have the form of an instant. Errors: 400 naming the fields whose date does not exist, such as
 * 30 February.
 */
export function readTimes<K extends string>(texts: Readonly<Record<K, string>>): Record<K, Date>;
export function readTimes(texts: Readonly<Record<string, string>>): Record<string, Date> {
  const faults: FieldError[] = [];
  const read = Object.entries(texts).flatMap(([field, text]) => {
    const date = parseInstant(text);
    if (date) return [[field, date] as const];
    faults.push({ field, message: 'is not a valid date' });
    return [];
  });
  if (faults.length > 0) throw invalidFields(faults);
  return Object.fromEntries(read);
}
