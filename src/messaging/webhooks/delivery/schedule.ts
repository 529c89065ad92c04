import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../platform/lib/time.ts';

/** How long after each failed attempt the next one is made (contract 6): ten more over about two days. */
const RETRIES_MS = [
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
const LONGEST_ASKED_MS = 24 * HOUR_MS;

/**
 * How long to wait after the failed attempt number `attempts` (from 1), with 20 % of jitter either way, so that what
 * failed together does not come back together; not less than the receiver asked for, up to 24 h. Null after the last.
 *
 * @param random from 0 to 1
 */
export function retryDelayMs(attempts: number, retryAfterMs: number | null, random = Math.random()): number | null {
  const usual = RETRIES_MS[attempts - 1];
  if (usual === undefined) return null;
  const jittered = usual * (1 + JITTER * (2 * random - 1));
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, LONGEST_ASKED_MS));
}
