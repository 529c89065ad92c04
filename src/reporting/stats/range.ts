import { type FieldError, invalidFields } from '../../platform/errors.ts';
import { DAY_MS } from '../../platform/lib/time.ts';
import type { Range } from './sql.ts';

const MAX_YEARS = 10;

type Days = { readonly startDate?: string | undefined; readonly endDate?: string | undefined };

/**
 * Converts two days into the time from the midnight before the first one to the midnight after the last one, UTC. An
 * omitted day leaves that side open. Errors: 400 when the last day is before the first, or more than 10 years after it.
 */
export function readRange(days: Required<Days>): Range;
export function readRange(days: Days): Partial<Range>;
export function readRange({ startDate, endDate }: Days): Partial<Range> {
  const from = startDate === undefined ? undefined : new Date(startDate);
  const last = endDate === undefined ? undefined : new Date(endDate);
  if (from && last) checkOrder(from, last);
  return { ...(from && { from }), ...(last && { to: new Date(last.getTime() + DAY_MS) }) };
}

function checkOrder(from: Date, last: Date): void {
  const latest = new Date(from);
  latest.setUTCFullYear(from.getUTCFullYear() + MAX_YEARS);
  const fault = (message: string): readonly FieldError[] => [{ field: 'endDate', message }];
  if (last < from) throw invalidFields(fault('must not be before startDate'));
  if (last > latest) throw invalidFields(fault(`must be at most ${MAX_YEARS} years after startDate`));
}
