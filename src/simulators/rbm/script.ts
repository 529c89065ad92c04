import { POSTER_DEFAULTS, type PosterScript } from '../http/poster.ts';
import type { ErrorName } from './answer.ts';

export const FEATURES = [
  'RICHCARD_STANDALONE',
  'RICHCARD_CAROUSEL',
  'ACTION_CREATE_CALENDAR_EVENT',
  'ACTION_DIAL',
  'ACTION_OPEN_URL',
  'ACTION_SHARE_LOCATION',
  'ACTION_VIEW_LOCATION',
  'ACTION_OPEN_URL_IN_WEBVIEW',
  'PDF_IN_RICH_CARDS',
] as const;
/** What a handset can do beyond text. */
export type Feature = (typeof FEATURES)[number];

/** What happens to a message after it was taken, each so long after that. */
export type EventStep = {
  readonly event: 'DELIVERED' | 'READ' | 'TTL_EXPIRATION_REVOKED' | 'TTL_EXPIRATION_REVOKE_FAILED' | 'UNSUBSCRIBE';
  readonly afterMs: number;
};

/** What becomes of the messages to one kind of destination. */
export type Outcome = {
  /** Refused with this: always, or so many times before one is taken when `refuseTimes` is set. */
  readonly refuse?: ErrorName;
  readonly refuseTimes?: number;
  /** All by default. */
  readonly features?: readonly Feature[];
  /** Absent: delivered. Those of the life's end come when the message's own `ttl` is over, if that is sooner. */
  readonly steps?: readonly EventStep[];
  /** The first event is told before the request is answered. */
  readonly early?: boolean;
  /** What happens is not told: a delivered message stays unknown to the client, and cannot be taken back. */
  readonly unreported?: boolean;
  /** Each event is told twice. */
  readonly doubled?: boolean;
  /** The answers to the first so many requests with one message are held back, although the first one took it. */
  readonly silentTimes?: number;
};

/**
 * How the sandbox behaves. It may be changed while the sandbox runs; a change counts from the next request on.
 * Everything that is left to chance comes from `seed`.
 */
export type RbmScript = PosterScript & {
  /** Every message: answered with this; or taken and never answered. */
  refuse: ErrorName | null;
  silent: boolean;
  answerDelayMs: number;
  /** These requests for messages are answered 429 or 503, and not taken. */
  throttleShare: number;
  unavailableShare: number;
  /** These messages are taken and not answered: without a word, or by cutting the connection. */
  dropAnswerShare: number;
  cutShare: number;
  /** Messages a second of one agent (token bucket, a quarter of a second deep); 0 is no limit. */
  tps: number;
  /** Answers 404 for what was delivered already (`guide`), or 200 whatever happened (`reference`). */
  revoke: 'guide' | 'reference';
  /** Whether it forgets what it has taken back: asked again, it says as of an unknown one that it did not. */
  forgetsRevoked: boolean;
  /** These requests to take a message back are done and not answered. */
  dropRevokeShare: number;
  /** These messages are delivered although they were revoked with 200. */
  deliverRevokedShare: number;
  /** By the last four digits of the destination; every other destination gets `otherwise`. */
  outcomes: Readonly<Record<string, Outcome>>;
  otherwise: Outcome;

  doubleEventShare: number;
  /** What these events tell of happens all the same. */
  missingEventShare: number;
  /** These events come `reorderMs` later than their turn. */
  reorderEventShare: number;
  reorderMs: number;
  /** So often an event of a message that nobody sent goes with an event. */
  foreignEventShare: number;

  /** Agents that reach testers only. */
  unlaunched: readonly string[];
  /** Numbers of one batch check. */
  batchMinimum: number;
  batchesPerMinute: number;
  tokenSeconds: number;
  /** The newest messages whose id and state are known (up to twice as many). */
  keepMessages: number;
  seed: number;
};

const delivered: EventStep = { event: 'DELIVERED', afterMs: 1000 };
const read: EventStep = { event: 'READ', afterMs: 1500 };

/** What a message without a rule of its own gets. */
export const DELIVERED: readonly EventStep[] = [delivered];

/**
 * Ordinary numbers deliver. The last four digits 0001 to 0009 ask for the ends that simulated sends have (contract,
 * section 7), as far as this network has them; 9901 to 9916 for what a client must withstand (protocol sheet rcs, 9.3).
 */
const DEFAULT_OUTCOMES: Readonly<Record<string, Outcome>> = {
  '0001': { refuse: 'INVALID_ARGUMENT' },
  '0002': { steps: [{ event: 'TTL_EXPIRATION_REVOKED', afterMs: 2000 }] },
  '0003': { refuse: 'PERMISSION_DENIED' },
  '0004': { steps: [] },
  '0005': { steps: [{ event: 'DELIVERED', afterMs: 30_000 }] },
  '0006': { steps: [delivered, read] },
  '0007': { refuse: 'NOT_FOUND' },
  '0008': { steps: [delivered, { event: 'UNSUBSCRIBE', afterMs: 1200 }] },
  9901: { features: [] },
  9902: { features: FEATURES.filter((feature) => feature !== 'PDF_IN_RICH_CARDS') },
  9903: {
    steps: [
      { event: 'TTL_EXPIRATION_REVOKE_FAILED', afterMs: 1000 },
      { event: 'DELIVERED', afterMs: 1500 },
    ],
  },
  9904: { steps: [read] },
  9905: { early: true },
  9906: { doubled: true, steps: [delivered, read] },
  9907: { steps: [{ event: 'READ', afterMs: 500 }, delivered] },
  9908: { steps: [delivered, { event: 'TTL_EXPIRATION_REVOKED', afterMs: 1200 }] },
  9909: { steps: [{ event: 'TTL_EXPIRATION_REVOKED', afterMs: 800 }, delivered] },
  9910: { refuse: 'RESOURCE_EXHAUSTED', refuseTimes: 3 },
  9911: { refuse: 'UNAVAILABLE', refuseTimes: 2 },
  9912: { refuse: 'INTERNAL', refuseTimes: 2 },
  9913: { silentTimes: 1 },
  9914: { silentTimes: 1000 },
  9915: { features: ['RICHCARD_STANDALONE'] },
  9916: { refuse: 'UNAUTHENTICATED', refuseTimes: 1 },
};

export function defaultScript(): RbmScript {
  return {
    refuse: null,
    silent: false,
    answerDelayMs: 0,
    throttleShare: 0,
    unavailableShare: 0,
    dropAnswerShare: 0,
    cutShare: 0,
    tps: 0,
    revoke: 'guide',
    forgetsRevoked: false,
    dropRevokeShare: 0,
    deliverRevokedShare: 0,
    outcomes: DEFAULT_OUTCOMES,
    otherwise: {},
    doubleEventShare: 0,
    missingEventShare: 0,
    reorderEventShare: 0,
    reorderMs: 500,
    foreignEventShare: 0,
    unlaunched: [],
    batchMinimum: 500,
    batchesPerMinute: 600,
    tokenSeconds: 3599,
    keepMessages: 100_000,
    ...POSTER_DEFAULTS,
    maxWaiting: 1_000_000,
    seed: 1,
  };
}

/** What the script wants for a destination. */
export const outcomeFor = (script: RbmScript, destination: string): Outcome =>
  script.outcomes[destination.slice(-4)] ?? script.otherwise;
