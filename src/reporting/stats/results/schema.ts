import { type Static, Type } from 'typebox';
import { nameOfStatus, STATUS_NAMES } from '../../../messaging/states.ts';
import { bitOf, CHANNELS, type Channel } from '../../../platform/lib/channel.ts';
import { channelName, instant, orNull } from '../../../platform/lib/schema.ts';
import type { MinuteFigures, ReasonRow } from './sql.ts';

const count = (description: string) => Type.Integer({ description });

export const ResultsOut = Type.Object({
  startedAt: orNull(instant()),
  replies: count('Recipients who wrote to the account within seven days after the start.'),
  repliesAreComplete: Type.Boolean({
    description: 'False: the account got more than 100,000 messages in that time, and only the newest are counted.',
  }),
  optOuts: count('Recipients who opted out by their own message within seven days after the start.'),
  reasons: Type.Array(
    Type.Object({
      channel: channelName(),
      status: Type.Enum([...STATUS_NAMES], { type: 'string' }),
      code: Type.String({
        description: 'The code of the carrier or of the gateway, cut to 40 characters; may be empty.',
      }),
      count: count('Messages. A recipient of a combined mode may have several.'),
    }),
    { description: 'Reasons why messages failed, the most frequent first; at most 100.' },
  ),
  stepSeconds: count('The length of a step of `steps`.'),
  steps: Type.Array(
    Type.Object({
      at: instant('The start of the step.'),
      sent: count('Messages whose outcome at the carrier became known.'),
      delivered: count('Messages whose delivery became known.'),
      failed: count('Messages that ended undelivered.'),
    }),
    {
      description:
        'Outcomes over time, oldest first, in at most 120 steps; empty ones are omitted. The figures are exact.',
    },
  ),
});
export type ResultsOut = Static<typeof ResultsOut>;

const channelOfBit = (bit: number): Channel => CHANNELS.find((channel) => bitOf(channel) === bit) ?? 'SMS';

type Found = {
  readonly startedAt: Date | null;
  readonly reasons: readonly ReasonRow[];
  readonly minutes: readonly MinuteFigures[];
  readonly replies: number;
  readonly repliesAreComplete: boolean;
  readonly optOuts: number;
};

export const toResultsOut = ({ startedAt, reasons, minutes, ...counts }: Found): ResultsOut => ({
  startedAt: startedAt?.toISOString() ?? null,
  ...counts,
  reasons: reasons.map(({ channel, status, ...reason }) => ({
    channel: channelOfBit(channel),
    status: nameOfStatus(status),
    ...reason,
  })),
  stepSeconds: minutes[0]?.stepSeconds ?? 60,
  steps: minutes.map(({ at, sent, delivered, failed }) => ({ at: at.toISOString(), sent, delivered, failed })),
});
