import { bitOf } from '../../../platform/lib/channel.ts';
import { NOT_TRIED, triggersFallback } from '../../../messaging/messages/fallback/rule.ts';
import { isFinal, nameOfStatus, STATUS } from '../../../messaging/states.ts';
import { chainOf } from '../mode.ts';
import type { RunningCampaign } from '../run/sql.ts';
import { type MessageFact, TIME } from './sql.ts';

/** Used instead of a status: the time of the channel is over, and the message may still be delivered. */
export const TIME_OVER = -1;

/** Consequence of a final state of a message for its recipient. */
export type Decision =
  /** Nothing: another channel has been tried already, or this state was processed before. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'delivered' }
  | { readonly kind: 'failed' }
  /**
   * Another channel is tried: one of `channels` (bits), for this reason. `open`: the previous message may still be
   * delivered.
   */
  | { readonly kind: 'next'; readonly channels: number; readonly reason: string; readonly open: boolean };

/**
 * Decides the next step when a message of a combined campaign has ended or its time is over. A hop ends with a final
 * failure, or when its time is over. No other channel follows a message that may have been delivered (an unknown
 * outcome, which comes as status 0), nor one that was withdrawn on purpose. A pure function.
 */
export function decide(fact: MessageFact, status: number, campaign: RunningCampaign): Decision {
  if (fact.hopMessageId !== null && fact.hopMessageId !== fact.id) return { kind: 'stale' };
  if (status === TIME_OVER && (fact.status === null || isFinal(fact.status))) return { kind: 'stale' };
  if (status === STATUS.DELIVERED) return { kind: 'delivered' };
  const channels = channelsAfter(campaign, fact.channel);
  const goesOn = channels !== 0 && !campaign.cancelled && allowsFallback(fact, status, campaign);
  const open = status === TIME_OVER;
  if (goesOn) return { kind: 'next', channels, reason: reasonOf(fact, status), open };
  return open ? { kind: 'stale' } : { kind: 'failed' };
}

function reasonOf({ errorCode }: MessageFact, status: number): string {
  if (status === TIME_OVER) return TIME;
  return errorCode === NOT_TRIED ? NOT_TRIED : nameOfStatus(status);
}

function allowsFallback({ errorCode }: MessageFact, status: number, { fallback }: RunningCampaign): boolean {
  return status === TIME_OVER || triggersFallback({ status, errorCode }, fallback.onStatus);
}

/** Returns the bits of the channels that the mode tries after this one. */
function channelsAfter({ sendingMode }: RunningCampaign, channel: string): number {
  const chain = chainOf(sendingMode);
  const at = chain.findIndex((name) => name === channel);
  return at < 0 ? 0 : chain.slice(at + 1).reduce((bits, next) => bits | bitOf(next), 0);
}
