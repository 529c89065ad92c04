const FORM = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?) ?(Z|[+-]\d{2}:?\d{2})$/;

/**
 * Parses the specification's `yyyy-MM-dd HH:mm:ss.SSSZ` (2027-01-31 09:00:00.000+0100) and ISO 8601 with an offset.
 * Null for anything else, including dates that do not exist.
 */
export function parseScheduledDate(text: string): Date | null {
  const [, day, time, offset] = FORM.exec(text) ?? [];
  if (day === undefined || time === undefined || offset === undefined) return null;
  const zone = offset === 'Z' ? 'Z' : `${offset.slice(0, 3)}:${offset.slice(-2)}`;
  const date = new Date(`${day}T${time}${zone}`);
  if (Number.isNaN(date.getTime())) return null;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? date : null;
}

/** Formats a date in UTC as in the specification: 2027-01-31 08:00:00.000+0000. */
export const formatScheduledDate = (date: Date): string => date.toISOString().replace('T', ' ').replace('Z', '+0000');
