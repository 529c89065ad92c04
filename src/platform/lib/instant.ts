import { Type } from 'typebox';
import { parseScheduledDate } from './scheduled-date.ts';

const FORM = String.raw`^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)? ?([Zz]|[+\- ]\d{2}:?\d{2})$`;

/** A field for what `parseInstant` reads; a day that the calendar lacks passes it. */
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
 * An instant of ISO 8601 with an offset, to the millisecond; null for anything else. Finer fractions are cut off. In a
 * query `+01:00` that was not encoded arrives as ` 01:00`, which can mean nothing else.
 */
export const parseInstant = (text: string): Date | null =>
  new RegExp(FORM).test(text)
    ? parseScheduledDate(text.toUpperCase().replace(BLANK_OFFSET, '+$1').replace(FRACTION, '$1'))
    : null;
