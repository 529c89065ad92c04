import { POSTER_DEFAULTS, type PosterScript } from '../http/poster.ts';

/** One status of a message, so long after the message was taken. */
export type StatusStep = {
  readonly status: 'sent' | 'delivered' | 'read' | 'played' | 'failed';
  readonly afterMs: number;
  /** Of a failure. */
  readonly code?: number;
};

/** What becomes of the messages to one kind of destination. */
export type Outcome = {
  /** Refused with this code: always, or so many times before one is taken when `refuseTimes` is set. */
  readonly refuse?: number;
  readonly refuseTimes?: number;
  /** Accepted under quality assessment. */
  readonly held?: boolean;
  /** Absent: sent, then delivered. */
  readonly steps?: readonly StatusStep[];
  /** The first status is told before the request is answered. */
  readonly early?: boolean;
  /** Each status is told twice. */
  readonly doubled?: boolean;
};

/**
 * How the sandbox behaves. It may be changed while the sandbox runs; a change counts from the next request on.
 * Everything that is left to chance comes from `seed`.
 */
export type GraphScript = PosterScript & {
  /** Every message: answered with this error; or taken and never answered. */
  refuse: number | null;
  silent: boolean;
  answerDelayMs: number;
  /** These messages are taken, and never answered. */
  dropAnswerShare: number;
  /** Messages a second of one number (token bucket, a quarter of a second deep); 0 is no limit. */
  tps: number;
  /** Messages to one person at once before the sandbox says 131056; one comes back every 6 s. 0 is no limit. */
  pairBurst: number;
  /** How long after a person's last message free-form messages pass; 0 does not check. */
  windowMs: number;
  /** By the last four digits of the destination; every other destination gets `otherwise`. */
  outcomes: Readonly<Record<string, Outcome>>;
  otherwise: Outcome;

  doubleStatusShare: number;
  missingStatusShare: number;
  /** These statuses come `reorderMs` later than their turn. */
  reorderStatusShare: number;
  reorderMs: number;
  /** With `conversation` as before version 24; `plain` without; `bsuid`: people show no number. */
  payload: 'conversation' | 'plain' | 'bsuid';
  /** Statuses and messages of one callback at most: what waits goes together. */
  batch: number;

  /** A new template is looked at for so long; names that hold `reject` are refused. */
  approveAfterMs: number;
  /** How long the address of a file is good for. */
  mediaUrlMs: number;
  seed: number;
};

const sent: StatusStep = { status: 'sent', afterMs: 200 };
const delivered: StatusStep = { status: 'delivered', afterMs: 1000 };
const read: StatusStep = { status: 'read', afterMs: 1500 };
const failed = (code: number, afterMs = 1000): StatusStep => ({ status: 'failed', code, afterMs });

/** What a message without a rule of its own gets. */
export const DELIVERED: readonly StatusStep[] = [sent, delivered];

/**
 * Ordinary numbers deliver. The last four digits 0001 to 0009 ask for the ends that simulated sends have (contract,
 * section 7), as far as this network has them; 9901 to 9915 for what a receiver of callbacks must withstand.
 */
const DEFAULT_OUTCOMES: Readonly<Record<string, Outcome>> = {
  '0001': { steps: [sent, failed(131000)] },
  '0002': { steps: [sent] },
  '0003': { refuse: 135000 },
  '0004': { steps: [] },
  '0005': { steps: [sent, { status: 'delivered', afterMs: 30_000 }] },
  '0006': { steps: [sent, delivered, read] },
  '0007': { steps: [failed(131026)] },
  '0008': { steps: [failed(131050)] },
  '0009': { steps: [failed(131047)] },
  9901: { steps: [sent, failed(131053)] },
  9902: { steps: [sent, delivered, failed(131000, 1500)] },
  9903: { steps: [failed(131000, 500), sent, delivered] },
  9904: { steps: [sent, read] },
  9905: { early: true },
  9906: { doubled: true, steps: [sent, delivered, read] },
  9907: {
    steps: [
      { ...read, afterMs: 300 },
      { ...delivered, afterMs: 600 },
      { ...sent, afterMs: 900 },
    ],
  },
  9908: { steps: [failed(131049)] },
  9909: { refuse: 131021 },
  9910: { refuse: 130429, refuseTimes: 3 },
  9911: { refuse: 131016, refuseTimes: 2 },
  9912: { refuse: 131056, refuseTimes: 1 },
  9913: { held: true },
  9914: { refuse: 131000, refuseTimes: 2 },
  9915: { steps: [sent, delivered, { ...read, status: 'played' }] },
};

export function defaultScript(): GraphScript {
  return {
    refuse: null,
    silent: false,
    answerDelayMs: 0,
    dropAnswerShare: 0,
    tps: 80,
    pairBurst: 45,
    windowMs: 24 * 3_600_000,
    outcomes: DEFAULT_OUTCOMES,
    otherwise: {},
    doubleStatusShare: 0,
    missingStatusShare: 0,
    reorderStatusShare: 0,
    reorderMs: 500,
    payload: 'plain',
    batch: 100,
    ...POSTER_DEFAULTS,
    maxWaiting: 20_000,
    approveAfterMs: 1000,
    mediaUrlMs: 300_000,
    seed: 1,
  };
}

/** What the script wants for a destination. */
export const outcomeFor = (script: GraphScript, destination: string): Outcome =>
  script.outcomes[destination.slice(-4)] ?? script.otherwise;
