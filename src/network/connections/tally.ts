import type { Carrier } from '../../carriers/carrier.ts';
import type { Outcome } from '../../carriers/outcome.ts';
import { maskNumbersIn } from '../../platform/lib/phone/mask.ts';

/** Number of messages by outcome. */
export type Counts = { accepted: number; refused: number; retried: number; unknown: number };

export type Figures = Counts & {
  /** Accepted messages per second since the last call of `take`. */
  readonly perSecond: number;
  /**
   * The carrier's last response to a message that it did not accept, numbers masked; null when there was none since the
   * start.
   */
  readonly lastError: string | null;
  readonly lastErrorAt: Date | null;
};

export type Tally = {
  record(outcome: Outcome): void;
  /** Returns the figures since the last call, and starts again at 0. */
  take(): Figures;
};

const NOTHING: Counts = { accepted: 0, refused: 0, retried: 0, unknown: 0 };
const MAX_ERROR_LENGTH = 300;

/** Creates an in-memory count of outcomes. */
export function createTally(now = () => new Date()): Tally {
  let counts = { ...NOTHING };
  let since = performance.now();
  let last: Pick<Figures, 'lastError' | 'lastErrorAt'> = { lastError: null, lastErrorAt: null };
  const fail = (kind: keyof Counts, text: string): void => {
    counts[kind]++;
    last = { lastError: maskNumbersIn(text).slice(0, MAX_ERROR_LENGTH), lastErrorAt: now() };
  };
  return {
    record(outcome) {
      if (outcome.kind === 'accepted') counts.accepted++;
      else if (outcome.kind === 'unknown') fail('unknown', outcome.text);
      else if (outcome.kind === 'refused') fail('refused', describe(outcome));
      // The link had no room: the carrier was not asked.
      else if (outcome.code !== 'NOT_SENT') fail('retried', describe(outcome));
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

const describe = ({ code, text }: { code: string; text: string }): string => (text === '' ? code : `${code} ${text}`);

/** Wraps a carrier so that its outcomes are counted. */
export function tallied(carrier: Carrier, tally: Tally): Carrier {
  const record = (outcome: Outcome): Outcome => {
    tally.record(outcome);
    return outcome;
  };
  // Not an async function: that would cost each message a generator and another promise.
  return { ...carrier, submit: (submission) => carrier.submit(submission).then(record) };
}
