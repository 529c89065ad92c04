import { Type } from 'typebox';
import type { StatusName } from '../states.ts';

const seconds = (description: string) => Type.Integer({ minimum: 30, maximum: 172_800, description });
/** Ends of a message after which the next channel is tried. DELETED is not among them: somebody cancelled it. */
const FAILURES: string[] = [
  ...(['REJECTED', 'EXPIRED', 'UNDELIVERABLE', 'ERROR', 'DISABLED', 'UNSUPPORTED', 'CONVERSATION_CLOSED'] as const),
] satisfies StatusName[];

/** When the next channel is tried: of campaigns (contract 3) and of single sends alike. */
export const Fallback = Type.Object(
  {
    after: Type.Optional(
      Type.Object({
        WHATSAPP: Type.Optional(seconds('Seconds; default 3600.')),
        RCS: Type.Optional(seconds('Seconds; default 300.')),
      }),
    ),
    onStatus: Type.Optional(
      Type.Array(Type.Enum(FAILURES, { type: 'string' }), { maxItems: 20, description: 'Default: all of them.' }),
    ),
  },
  {
    description:
      'Where several channels are tried. The next one is when a message fails, or has not been delivered so many ' +
      'seconds after it was made. A message whose outcome is not known never leads to a second one.',
  },
);
