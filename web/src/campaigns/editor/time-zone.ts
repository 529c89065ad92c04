const DIGITS = /^GMT(?:([+-])(\d{2}):(\d{2})(?::\d{2})?)?$/;

/** How far a zone is from UTC at an instant, in minutes: 60 in Rome in winter. */
function offsetMinutes(instant: Date, zone: string): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(instant);
  const [, sign, hours = '0', minutes = '0'] =
    DIGITS.exec(parts.find(({ type }) => type === 'timeZoneName')?.value ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

const MINUTE_MS = 60_000;

/**
 * The instant at which the clocks of a zone show this time (`2027-01-31T09:00`). A time that they skip in spring is taken
 * an hour later; of one that they show twice in autumn the first is meant. Null for what is no time.
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

/** What the clocks of a zone show at an instant, as `<input type="datetime-local">` takes it. */
export const wallTimeAt = (instant: Date, zone: string): string =>
  new Date(instant.getTime() + offsetMinutes(instant, zone) * MINUTE_MS).toISOString().slice(0, 16);

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** All zones that the browser knows, one's own first. */
export function zones(): readonly string[] {
  const own = ownZone();
  return [own, ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== own)];
}
