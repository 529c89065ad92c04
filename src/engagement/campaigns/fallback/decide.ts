import { bitOf } from '../../../platform/lib/channel.ts';
import { triggersFallback } from '../../../messaging/messages/fallback/rule.ts';
import { isFinal, nameOfStatus, STATUS } from '../../../messaging/states.ts';
import { chainOf } from '../mode.ts';
import type { RunningCampaign } from '../run/sql.ts';
import { TIME_OVER } from './codes.ts';
import type { MessageFact } from './sql.ts';

/** What an end of a message means for its recipient. */
export type Decision =
  /** Nothing: the recipient has gone on before, or has had this end. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'delivered' }
  | { readonly kind: 'failed' }
  /** Another channel is tried, if there is one: of these bits, for this reason. */
  | { readonly kind: 'next'; readonly channels: number; readonly reason: string; readonly open: boolean };

/**
 * The rule of fallback (contract 3, promises 3): a hop ends with a final failure or when its time is over. What may have
 * been delivered is never followed by anything: an unknown outcome (which ends as status 0 here), and whatever somebody
 * has taken back on purpose. Pure.
 */
export function decide(fact: MessageFact, status: number, campaign: RunningCampaign): Decision {
  const [id, , channel, , , , now, , , , hopMessageId] = fact;
  if (hopMessageId !== null && hopMessageId !== id) return { kind: 'stale' };
  if (status === TIME_OVER && (now === null || isFinal(now))) return { kind: 'stale' };
  if (status === STATUS.DELIVERED) return { kind: 'delivered' };
  const channels = channelsAfter(campaign, channel);
  const goesOn = channels !== 0 && !campaign.cancelled && allowsFallback(fact, status, campaign);
  const open = status === TIME_OVER;
  if (goesOn) return { kind: 'next', channels, reason: open ? 'TIME' : nameOfStatus(status), open };
  return open ? { kind: 'stale' } : { kind: 'failed' };
}

function allowsFallback(
  [, , , , , , , errorCode]: MessageFact,
  status: number,
  { fallback }: RunningCampaign,
): boolean {
  return status === TIME_OVER || triggersFallback({ status, errorCode }, fallback.onStatus);
}

/** Bits of the channels that the mode tries after this one. */
function channelsAfter({ sendingMode }: RunningCampaign, channel: string): number {
  const chain = chainOf(sendingMode);
  const at = chain.findIndex((name) => name === channel);
  return at < 0 ? 0 : chain.slice(at + 1).reduce((bits, next) => bits | bitOf(next), 0);
}
