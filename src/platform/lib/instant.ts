import { Type } from 'typebox';
import { parseScheduledDate } from './scheduled-date.ts';

const FORM = String.raw`^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)? ?([Zz]|[+\- ]\d{2}:?\d{2})$`;

/** The schema of a field for `parseInstant`; it also accepts days that do not exist, such as 31 February. */
export const instantField = (description: string) =>
  Type.String({
    pattern: FORM,
    'x-message': 'must be an ISO 8601 date and time with an offset, such as 2027-01-31T09:00:00+01:00',
    description: `${description} ISO 8601 with an offset.`,
    examples: ['2027-01-31T09:00:00+01:00'],
  });

const FRACTION = /(\.\d{1,3})\d*/;
const BLANK_OFFSET = / (\d{2}:?\d{2})$/;

/**
 * Parses an ISO 8601 instant with an offset, to the millisecond; null for anything else. Finer fractions are truncated.
 * A space before the offset counts as a plus sign: in a query, an unencoded `+01:00` arrives as ` 01:00`.
 */
export const parseInstant = (text: string): Date | null =>
  new RegExp(FORM).test(text)
    ? parseScheduledDate(text.toUpperCase().replace(BLANK_OFFSET, '+$1').replace(FRACTION, '$1'))
    : null;
