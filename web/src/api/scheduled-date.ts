/** The date in ISO 8601; not every browser's `Date` parses the specification's format. */
export const toIso = (scheduledDate: string): string =>
  scheduledDate.replace(' ', 'T').replace(/([+-]\d{2})(\d{2})$/, '$1:$2');
