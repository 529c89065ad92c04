const MAX_MS = 24 * 3600 * 1000;
const HTTP_DATE = /^[A-Za-z]{3,9},? .+ GMT$/;

/**
 * How long a receiver asks to be left alone, in ms from `nowMs`, at most 24 hours: from a Retry-After header in seconds
 * or as an HTTP date. Null when there is none that can be read; 0 for a date that has passed.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  const ms = /^\d{1,15}$/.test(text) ? Number(text) * 1000 : HTTP_DATE.test(text) ? Date.parse(text) - nowMs : NaN;
  return Number.isNaN(ms) ? null : Math.min(MAX_MS, Math.max(0, ms));
}
