import { POSTER_DEFAULTS, type PosterScript } from '../http/poster.ts';
import type { ErrorName } from './answer.ts';

/** All features that a handset can have beyond plain text. */
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
/** One feature of a handset. */
export type Feature = (typeof FEATURES)[number];

/** An event of a message, `afterMs` after the message was accepted. */
export type EventStep = {
  readonly event: 'DELIVERED' | 'READ' | 'TTL_EXPIRATION_REVOKED' | 'TTL_EXPIRATION_REVOKE_FAILED' | 'UNSUBSCRIBE';
  readonly afterMs: number;
};

/** Outcome of the messages to one kind of destination. */
export type Outcome = {
  /** Rejects messages with this error: always, or `refuseTimes` times before one is accepted. */
  readonly refuse?: ErrorName;
  readonly refuseTimes?: number;
  /** The features of the handset; all by default. */
  readonly features?: readonly Feature[];
  /**
   * The events of the message; by default it is delivered. Expiry events come at the end of the message's own `ttl` if
   * that is sooner.
   */
  readonly steps?: readonly EventStep[];
  /** Sends the first event before the response to the request. */
  readonly early?: boolean;
  /** Sends no events: the client does not learn of a delivery, and the message cannot be revoked any more. */
  readonly unreported?: boolean;
  /** Sends each event twice. */
  readonly doubled?: boolean;
  /** Withholds the responses to this many requests for one message, although the first request was accepted. */
  readonly silentTimes?: number;
};

/**
 * The behaviour of the simulator. It may be changed while the simulator runs, with effect from the next request on.
 * `…Share` fields are probabilities from 0 to 1; all randomness is derived from `seed`.
 */
export type RbmScript = PosterScript & {
  /** Rejects every message with this error. */
  refuse: ErrorName | null;
  /** Rejects messages without a traffic type, as of agents with several uses. */
  requireTrafficType: boolean;
  /** Accepts every message without ever responding. */
  silent: boolean;
  answerDelayMs: number;
  /** The share of messages that get a 429 and are not accepted. */
  throttleShare: number;
  /** The share of messages that get a 503 and are not accepted. */
  unavailableShare: number;
  /** The share of messages that are accepted without a response. */
  dropAnswerShare: number;
  /** The share of messages that are accepted before the connection is cut without a response. */
  cutShare: number;
  /** Messages per second and agent (token bucket, a quarter of a second deep); 0 means no limit. */
  tps: number;
  /**
   * Response to a revocation after delivery: 404 (`guide`), or always 200 (`reference`), as Google's documents differ.
   */
  revoke: 'guide' | 'reference';
  /** True if a second revocation of the same message gets the response for an unknown message. */
  forgetsRevoked: boolean;
  /** The share of revocations that are performed without a response. */
  dropRevokeShare: number;
  /** The share of messages that are delivered although they were revoked with 200. */
  deliverRevokedShare: number;
  /** By the last four digits of the destination; every other destination gets `otherwise`. */
  outcomes: Readonly<Record<string, Outcome>>;
  otherwise: Outcome;

  /** The share of events that are sent twice. */
  doubleEventShare: number;
  /** The share of events that happen and are not sent. */
  missingEventShare: number;
  /** The share of events that are sent `reorderMs` late. */
  reorderEventShare: number;
  reorderMs: number;
  /** The share of events that are accompanied by an event of an unknown message. */
  foreignEventShare: number;

  /** Agents that may only write to testers. */
  unlaunched: readonly string[];
  /** Minimum numbers in a batch check. */
  batchMinimum: number;
  batchesPerMinute: number;
  /** The lifetime of an access token. */
  tokenSeconds: number;
  /** The newest messages whose id and state are kept (up to twice as many). */
  keepMessages: number;
  seed: number;
};

const delivered: EventStep = { event: 'DELIVERED', afterMs: 1000 };
const read: EventStep = { event: 'READ', afterMs: 1500 };

/** The events of a message whose outcome has no steps. */
export const DELIVERED: readonly EventStep[] = [delivered];

/**
 * Ordinary numbers deliver. The last four digits 0001 to 0008 select the results of simulated sends, as far as this
 * network has them; 9901 to 9916 select situations that a client must handle.
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

/** Returns a new script with the default behaviour. */
export function defaultScript(): RbmScript {
  return {
    refuse: null,
    requireTrafficType: false,
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

/** Returns the outcome of messages to a destination, by its last four digits. */
export const outcomeFor = (script: RbmScript, destination: string): Outcome =>
  script.outcomes[destination.slice(-4)] ?? script.otherwise;
