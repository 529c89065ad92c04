import { type Static, Type } from 'typebox';
import { chainOf } from '../../../engagement/campaigns/mode.ts';
import { bitOf } from '../../../platform/lib/channel.ts';
import { channelName } from '../../../platform/lib/schema.ts';
import type { FunnelRow } from './sql.ts';

const count = (description: string) => Type.Integer({ description });

export const FunnelOut = Type.Object({
  recipients: count('Recipients to whom something is sent.'),
  skipped: count('Recipients to whom nothing is sent.'),
  waiting: count('Recipients without a message so far.'),
  steps: Type.Array(
    Type.Object({
      step: count('The position of the channel, from 1.'),
      channel: channelName(),
      attempted: count('Messages that were given to a carrier, or ended before that.'),
      delivered: count('Messages delivered, including those that were read.'),
      read: count('Messages read, as far as the channel reports it.'),
      failed: count('Messages that ended undelivered, including those followed by another channel.'),
      fellBack: count('Recipients for whom another channel followed.'),
      notTried: count('Of these, recipients whose message no carrier took within `fallback.maxWait`.'),
      pending: count('Messages given to a carrier whose final status is not known yet.'),
    }),
    { description: 'The channels of the sending mode, in the order in which they are tried.' },
  ),
});

const NO_HOPS = { count: 0, notTried: 0 };
const NOTHING = { sent: 0, delivered: 0, read: 0, failed: 0, unsent: 0 };

/** Converts the figures of a campaign into the steps that its recipients go through. */
export function toFunnelOut({
  sendingMode,
  recipients,
  skipped,
  messages,
  traffic,
  hops,
}: FunnelRow): Static<typeof FunnelOut> {
  const followed = hops.reduce((sum, hop) => sum + hop.count, 0);
  const steps = chainOf(sendingMode).map((channel, i) => {
    const { sent, delivered, read, failed, unsent } = traffic.find((t) => t.channel === bitOf(channel)) ?? NOTHING;
    const { count: fellBack, notTried } = hops.find((hop) => hop.channel === channel) ?? NO_HOPS;
    const pending = sent - delivered - (failed - unsent);
    return { step: i + 1, channel, attempted: sent + unsent, delivered, read, failed, fellBack, notTried, pending };
  });
  return { recipients, skipped, waiting: Math.max(0, recipients - (messages - followed)), steps };
}
