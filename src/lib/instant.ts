import { parseScheduledDate } from './scheduled-date.ts';

/** The form of what `parseInstant` reads, for schemas; a day that the calendar lacks passes it. */
export const INSTANT = String.raw`^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)? ?([Zz]|[+\- ]\d{2}:?\d{2})$`;

const FRACTION = /(\.\d{1,3})\d*/;
const BLANK_OFFSET = / (\d{2}:?\d{2})$/;

/**
 * An instant of ISO 8601 with an offset, to the millisecond; null for anything else. Finer fractions are cut off. In a
 * query `+01:00` that was not encoded arrives as ` 01:00`, which can mean nothing else.
 */
export const parseInstant = (text: string): Date | null =>
  new RegExp(INSTANT).test(text)
    ? parseScheduledDate(text.toUpperCase().replace(BLANK_OFFSET, '+$1').replace(FRACTION, '$1'))
    : null;
