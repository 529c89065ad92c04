import type { Outcome } from '../../carriers/outcome.ts';
import type { HeldChunk } from './held.ts';

/** What is recorded of an answer, and whether the message goes on at the chunk's next connection. */
export type Verdict = { readonly outcome: Outcome; readonly elsewhere: boolean };

/** A carrier that goes on answering "later" about one message does not want it: at 5 s a try, after five minutes. */
const MOST_ATTEMPTS = 60;
/** With another connection to go to, so many are enough. */
const MOST_TRIES = 2;

/**
 * Judges a carrier's answer by what the chunk has still open. To another connection goes only what is known not to have
 * been taken: a refusal that blames the carrier and not the message, or "later" once too often. What is unknown stays.
 */
export function judge(outcome: Outcome, { alternates, attempt, tries }: HeldChunk): Verdict {
  const canMove = alternates.length > 0;
  if (outcome.kind === 'refused' && outcome.elsewhere && canMove) {
    const { code, text } = outcome;
    return { outcome: { kind: 'retry', afterMs: 0, counts: true, code, text }, elsewhere: true };
  }
  if (outcome.kind !== 'retry' || !outcome.counts) return { outcome, elsewhere: false };
  if (canMove && tries + 1 >= MOST_TRIES) return { outcome: { ...outcome, afterMs: 0 }, elsewhere: true };
  return { outcome: attempt + 1 >= MOST_ATTEMPTS ? refusal(outcome) : outcome, elsewhere: false };
}

const refusal = ({ code, text }: Extract<Outcome, { kind: 'retry' }>): Outcome => ({
  kind: 'refused',
  status: 'REJECTED',
  code,
  text,
  carrierIds: [],
});
