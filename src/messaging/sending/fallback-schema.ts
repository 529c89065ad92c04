import { Type } from 'typebox';
import type { StatusName } from '../states.ts';

const seconds = (description: string) => Type.Integer({ minimum: 30, maximum: 172_800, description });
/** The failures after which the next channel is tried. DELETED is not one of them: a user cancelled the message. */
const FAILURES: string[] = [
  'REJECTED',
  'EXPIRED',
  'UNDELIVERABLE',
  'ERROR',
  'DISABLED',
  'UNSUPPORTED',
  'CONVERSATION_CLOSED',
] satisfies StatusName[];

/** Conditions for trying the next channel, in campaigns and in single sends. */
export const Fallback = Type.Object(
  {
    after: Type.Optional(
      Type.Object({
        WHATSAPP: Type.Optional(seconds('Seconds (default 3600).')),
        RCS: Type.Optional(seconds('Seconds (default 300).')),
      }),
    ),
    maxWait: Type.Optional(
      seconds(
        'Maximum seconds that a message may wait until its carrier takes it, pauses and throttling included (default 172800). ' +
          'Then the next channel is tried, and this one counts as not tried.',
      ),
    ),
    onStatus: Type.Optional(
      Type.Array(Type.Enum(FAILURES, { type: 'string' }), {
        maxItems: 20,
        description: 'The failures after which the next channel is tried (default: all).',
      }),
    ),
  },
  {
    description:
      'Conditions for trying the next of several channels: after a message fails, or has not been delivered within this time ' +
      'after its carrier took it. The time stands still while a message waits in the queue, is throttled or is paused. A ' +
      'message with an unknown outcome is never followed by another one.',
  },
);
