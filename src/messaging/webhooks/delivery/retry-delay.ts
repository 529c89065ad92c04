import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../platform/lib/time.ts';

/** The delay after each failed attempt: ten retries over about two days. */
const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];
const JITTER = 0.2;
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;

/**
 * Returns the delay in ms after the failed attempt number `attempts` (from 1), or null after the last attempt. It has
 * 20 % jitter either way, so that events that failed together do not return together, and is not shorter than the
 * receiver requested, up to 24 h.
 *
 * @param random from 0 to 1
 */
export function retryDelayMs(attempts: number, retryAfterMs: number | null, random = Math.random()): number | null {
  const usual = RETRY_DELAYS_MS[attempts - 1];
  if (usual === undefined) return null;
  const jittered = usual * (1 + JITTER * (2 * random - 1));
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
}
