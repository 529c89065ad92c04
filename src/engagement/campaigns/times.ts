import { DEFAULT_AFTER_SECONDS, type Times } from '../../messaging/messages/fallback/rule.ts';
import { DEFAULT_VALIDITY_MS } from '../../messaging/messages/validity.ts';
import { SECOND_MS } from '../../platform/lib/time.ts';
import type { Fallback } from './sql.ts';

/** Returns the times of a channel of a combined campaign: as set, or by default. */
export function timesOf({ after = {}, maxWait }: Fallback, channel: string): Times {
  const own: Readonly<Record<string, number | undefined>> = after;
  return {
    afterSeconds: own[channel] ?? DEFAULT_AFTER_SECONDS[channel] ?? 0,
    maxWaitSeconds: maxWait ?? DEFAULT_VALIDITY_MS / SECOND_MS,
  };
}
