const MAX_MS = 24 * 3600 * 1000;
const HTTP_DATE = /^[A-Za-z]{3,9},? .+ GMT$/;

/**
 * Parses a Retry-After header, in seconds or as an HTTP date. Returns the delay in ms from `nowMs`, at most 24 hours; 0
 * for a date in the past; null if the header is missing or malformed.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  const text = value?.trim() ?? '';
  const ms = /^\d{1,15}$/.test(text) ? Number(text) * 1000 : HTTP_DATE.test(text) ? Date.parse(text) - nowMs : NaN;
  return Number.isNaN(ms) ? null : Math.min(MAX_MS, Math.max(0, ms));
}
