import { POSTER_DEFAULTS, type PosterScript } from '../http/poster.ts';

/** One status of a message, `afterMs` after the message was accepted. */
export type StatusStep = {
  readonly status: 'sent' | 'delivered' | 'read' | 'played' | 'failed';
  readonly afterMs: number;
  /** The error code of a failure. */
  readonly code?: number;
};

/** Outcome of the messages to one kind of destination. */
export type Outcome = {
  /** Rejects messages with this code: always, or `refuseTimes` times before one is accepted. */
  readonly refuse?: number;
  readonly refuseTimes?: number;
  /** Accepts messages as held for quality assessment. */
  readonly held?: boolean;
  /** The statuses of the message; by default sent, then delivered. */
  readonly steps?: readonly StatusStep[];
  /** Sends the first status before the response to the request. */
  readonly early?: boolean;
  /** Sends each status twice. */
  readonly doubled?: boolean;
};

/**
 * The behaviour of the simulator. It may be changed while the simulator runs, with effect from the next request on.
 * `…Share` fields are probabilities from 0 to 1; all randomness is derived from `seed`.
 */
export type GraphScript = PosterScript & {
  /** Rejects every message with this code. */
  refuse: number | null;
  /** Rejects calls without `appsecret_proof`, like an app whose setting "Require App Secret" is on. */
  requireProof: boolean;
  /** Accepts every message without ever responding. */
  silent: boolean;
  answerDelayMs: number;
  /** The share of messages that are accepted without a response. */
  dropAnswerShare: number;
  /** Messages per second and number (token bucket, a quarter of a second deep); 0 means no limit. */
  tps: number;
  /**
   * Messages to one person in quick succession before error 131056; one more is allowed every 6 s. 0 means no limit.
   */
  pairBurst: number;
  /** Time during which free-form messages are allowed after a person's last message; 0 means always. */
  windowMs: number;
  /** By the last four digits of the destination; every other destination gets `otherwise`. */
  outcomes: Readonly<Record<string, Outcome>>;
  otherwise: Outcome;

  /** The share of statuses that are sent twice. */
  doubleStatusShare: number;
  /** The share of statuses that are not sent. */
  missingStatusShare: number;
  /** The share of statuses that are sent `reorderMs` late. */
  reorderStatusShare: number;
  reorderMs: number;
  /**
   * The format of statuses: with `conversation` as before version 24, `plain` without it, or `bsuid` for people without
   * numbers.
   */
  payload: 'conversation' | 'plain' | 'bsuid';
  /** Maximum statuses and messages per callback request. */
  batch: number;

  /** The time until a new template is approved; one with `reject` in its name is rejected. */
  approveAfterMs: number;
  /** Validity of a download URL. */
  mediaUrlMs: number;
  seed: number;
};

const sent: StatusStep = { status: 'sent', afterMs: 200 };
const delivered: StatusStep = { status: 'delivered', afterMs: 1000 };
const read: StatusStep = { status: 'read', afterMs: 1500 };
const failed = (code: number, afterMs = 1000): StatusStep => ({ status: 'failed', code, afterMs });

/** The statuses of a message whose outcome has no steps. */
export const DELIVERED: readonly StatusStep[] = [sent, delivered];

/**
 * Ordinary numbers deliver. The last four digits 0001 to 0009 select the results of simulated
 * sends, as far as this network has them; 9901 to 9915 select situations that a receiver of callbacks must handle.
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

/** Returns a new script with the default behaviour. */
export function defaultScript(): GraphScript {
  return {
    refuse: null,
    requireProof: false,
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

/** Returns the outcome of messages to a destination, by its last four digits. */
export const outcomeFor = (script: GraphScript, destination: string): Outcome =>
  script.outcomes[destination.slice(-4)] ?? script.otherwise;
