const DAY_MS = 86_400_000;

/** A period of days as they stand in the URL and in date fields: yyyy-MM-dd, UTC, both inclusive. */
export type Days = { readonly from: string; readonly to: string };

const isDay = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The last `count` days up to and with today. */
export const lastDays = (count: number, now: number): Days => ({
  from: dayAt(now - (count - 1) * DAY_MS),
  to: dayAt(now),
});

/** The calendar month of a time, or one before it. */
export function monthOf(now: number, monthsBefore: number): Days {
  const at = new Date(now);
  const first = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - monthsBefore, 1);
  const next = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - monthsBefore + 1, 1);
  return { from: dayAt(first), to: dayAt(next - DAY_MS) };
}

/** The days that the URL names, in order; the last 30 if it names none. */
export function readDays({ from, to }: Days, now: number): Days {
  if (!isDay(from) || !isDay(to)) return lastDays(30, now);
  return from <= to ? { from, to } : { from: to, to: from };
}
