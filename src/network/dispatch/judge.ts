import type { Outcome } from '../../carriers/outcome.ts';
import type { HeldChunk } from './held.ts';

/** The outcome that is recorded, and whether the message goes to the chunk's next connection. */
export type Verdict = { readonly outcome: Outcome; readonly elsewhere: boolean };

/** After this many temporary errors (five minutes at 5 s each) the message is treated as rejected. */
const MAX_ATTEMPTS = 60;
/** After this many "later" responses of one connection a message moves to another, if there is one. */
const MAX_TRIES_BEFORE_MOVE = 2;

/**
 * Interprets a carrier's response for a message of this chunk. A message goes to another connection only when it was
 * certainly not accepted: after a rejection caused by the carrier and not by the message, or after too many "later"
 * responses. A message with outcome `unknown` stays.
 */
export function judge(outcome: Outcome, { alternates, attempt, tries }: HeldChunk): Verdict {
  const canMove = alternates.length > 0;
  if (outcome.kind === 'refused' && outcome.elsewhere && canMove) {
    const { code, text } = outcome;
    return { outcome: { kind: 'retry', afterMs: 0, counts: true, code, text }, elsewhere: true };
  }
  if (outcome.kind !== 'retry' || !outcome.counts) return { outcome, elsewhere: false };
  if (canMove && tries + 1 >= MAX_TRIES_BEFORE_MOVE) return { outcome: { ...outcome, afterMs: 0 }, elsewhere: true };
  return { outcome: attempt + 1 >= MAX_ATTEMPTS ? refusal(outcome) : outcome, elsewhere: false };
}

const refusal = ({ code, text }: Extract<Outcome, { kind: 'retry' }>): Outcome => ({
  kind: 'refused',
  status: 'REJECTED',
  code,
  text,
  carrierIds: [],
});
