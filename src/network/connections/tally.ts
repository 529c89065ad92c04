import type { Carrier } from '../../carriers/carrier.ts';
import type { Outcome } from '../../carriers/outcome.ts';
import { maskNumbersIn } from '../../platform/lib/mask.ts';

/** What a carrier answered to messages. */
export type Counts = { accepted: number; refused: number; retried: number; unknown: number };

export type Figures = Counts & {
  /** Messages that it took, over the time since the last look. */
  readonly perSecond: number;
  /** What it last answered to a message that it did not take, without numbers; null: none since the start. */
  readonly lastError: string | null;
  readonly lastErrorAt: Date | null;
};

export type Tally = {
  note(outcome: Outcome): void;
  /** What came since the last call. */
  take(): Figures;
};

const NOTHING: Counts = { accepted: 0, refused: 0, retried: 0, unknown: 0 };
const LONGEST_ERROR = 300;

/** Counts outcomes in memory. */
export function createTally(now = () => new Date()): Tally {
  let counts = { ...NOTHING };
  let since = performance.now();
  let last: Pick<Figures, 'lastError' | 'lastErrorAt'> = { lastError: null, lastErrorAt: null };
  const fail = (kind: keyof Counts, text: string): void => {
    counts[kind]++;
    last = { lastError: maskNumbersIn(text).slice(0, LONGEST_ERROR), lastErrorAt: now() };
  };
  return {
    note(outcome) {
      if (outcome.kind === 'accepted') counts.accepted++;
      else if (outcome.kind === 'unknown') fail('unknown', outcome.text);
      else if (outcome.kind === 'refused') fail('refused', wordsOf(outcome));
      // The link had no room: the carrier said nothing.
      else if (outcome.code !== 'NOT_SENT') fail('retried', wordsOf(outcome));
    },
    take() {
      const seconds = Math.max(0.001, (performance.now() - since) / 1000);
      const figures = { ...counts, perSecond: counts.accepted / seconds, ...last };
      counts = { ...NOTHING };
      since = performance.now();
      return figures;
    },
  };
}

const wordsOf = ({ code, text }: { code: string; text: string }): string => (text === '' ? code : `${code} ${text}`);

/** The same carrier, whose outcomes are counted. */
export const tallied = (carrier: Carrier, tally: Tally): Carrier => ({
  ...carrier,
  async submit(submission) {
    const outcome = await carrier.submit(submission);
    tally.note(outcome);
    return outcome;
  },
});
