import { type Static, Type } from 'typebox';
import { chainOf } from '../../../engagement/campaigns/mode.ts';
import { bitOf } from '../../../platform/lib/channel.ts';
import type { FunnelRow } from './sql.ts';
import { channelName } from '../../../platform/lib/schema.ts';

const count = (description: string) => Type.Integer({ description });

export const FunnelOut = Type.Object({
  recipients: count('Who gets something.'),
  skipped: count('Who gets nothing.'),
  waiting: count('Recipients for whom no message was made yet.'),
  steps: Type.Array(
    Type.Object({
      step: count('From 1.'),
      channel: channelName(),
      attempted: count('Messages that were given to a carrier, or ended before.'),
      delivered: count('Those that were read included.'),
      read: count('As far as the channel tells.'),
      failed: count('Ended undelivered, those included whose recipients went on.'),
      fellBack: count('Recipients who went on from here to another channel.'),
      pending: count('Given to a carrier and without an end.'),
    }),
    { description: 'The channels of the mode, in the order in which they are tried.' },
  ),
});

const NOTHING = { sent: 0, delivered: 0, read: 0, failed: 0, unsent: 0 };

/** A campaign as the steps that its recipients go through. */
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
    const fellBack = hops.find((hop) => hop.channel === channel)?.count ?? 0;
    const pending = sent - delivered - (failed - unsent);
    return { step: i + 1, channel, attempted: sent + unsent, delivered, read, failed, fellBack, pending };
  });
  return { recipients, skipped, waiting: Math.max(0, recipients - (messages - followed)), steps };
}
