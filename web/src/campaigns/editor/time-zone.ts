const DIGITS = /^GMT(?:([+-])(\d{2}):(\d{2})(?::\d{2})?)?$/;

/** The offset of a time zone from UTC at an instant, in minutes: 60 in Rome in winter. */
function offsetMinutes(instant: Date, zone: string): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(instant);
  const [, sign, hours = '0', minutes = '0'] =
    DIGITS.exec(parts.find(({ type }) => type === 'timeZoneName')?.value ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

const MINUTE_MS = 60_000;

/**
 * The instant of a local time (`2027-01-31T09:00`) in a zone. A time skipped in spring is moved an hour later; of a
 * time that occurs twice in autumn, the first is used. Null for invalid times.
 */
export function instantAt(wallTime: string, zone: string): Date | null {
  const asUtc = Date.parse(`${wallTime}Z`);
  if (Number.isNaN(asUtc)) return null;
  const day = 24 * 60 * MINUTE_MS;
  const before = offsetMinutes(new Date(asUtc - day), zone);
  const first = asUtc - before * MINUTE_MS;
  if (offsetMinutes(new Date(first), zone) === before) return new Date(first);
  const after = offsetMinutes(new Date(asUtc + day), zone);
  const second = asUtc - after * MINUTE_MS;
  return new Date(offsetMinutes(new Date(second), zone) === after ? second : first);
}

/** The local time of a zone at an instant, in the format of `<input type="datetime-local">`. */
export const wallTimeAt = (instant: Date, zone: string): string =>
  new Date(instant.getTime() + offsetMinutes(instant, zone) * MINUTE_MS).toISOString().slice(0, 16);

/** The place in the name of a zone: `Europe/Rome` is Rome, `America/Argentina/Buenos_Aires` is Buenos Aires. */
export const cityOf = (zone: string): string => (zone.split('/').at(-1) ?? zone).replaceAll('_', ' ');
