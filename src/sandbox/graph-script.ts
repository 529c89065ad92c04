import { randomBytes } from 'node:crypto';
import { createTokenBucket, type TokenBucket } from '../core/limits.ts';
import {
  createHttpLedger,
  type EventEntry as EventOf,
  type HttpLedger,
  type HttpLedgerWriter,
  POSTER_DEFAULTS,
  type PosterScript,
  type SandboxAnswer,
} from './http-server.ts';
import type { LedgerOptions, Stamp } from './ledger.ts';
import { createRecentMap } from './smsc-ledger.ts';

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
  /** The number in digits with which the person signed up, if it is not the one that messages are sent to. */
  readonly waId?: string;
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
  /** The messaging limit of the portfolio, as Meta names it: TIER_250, TIER_2K … TIER_UNLIMITED. It is not enforced. */
  messagingLimit: string;
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
  '0008': { steps: [failed(130403)] },
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
    messagingLimit: 'TIER_UNLIMITED',
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

/** One message that reached the simulator, accepted or rejected. */
export type MessageEntry = Stamp & {
  readonly kind: 'message';
  readonly phoneNumberId: string;
  /** The recipient: a number in digits, or a user id. */
  readonly to: string;
  readonly type: string;
  /** The object named after the type, as received. */
  readonly content: unknown;
  /** The client's own id of the message. */
  readonly opaque: string | null;
  /** The network's id; null when the message was rejected. */
  readonly id: string | null;
  /** The error code; 0 when the message was accepted. */
  readonly code: number;
  /** True if the response was sent; stays false when it was withheld. */
  answered: boolean;
};

type EventKind = 'status' | 'inbound' | 'template';
/** A status of a message, an inbound message, or a change of a template. */
export type EventEntry = EventOf<EventKind>;

const ZERO_COUNTS = {
  requests: 0,
  messages: 0,
  accepted: 0,
  refused: 0,
  /** Requests without a token, or with a wrong one. */
  unauthorized: 0,
  statuses: 0,
  inbounds: 0,
  templates: 0,
  acked: 0,
  lost: 0,
  /** Callback requests that were sent, including retries, and those that got a 200. */
  callbacks: 0,
  callbacksAcked: 0,
  /** Bytes of media that were downloaded. */
  downloads: 0,
};
type Counter = keyof typeof ZERO_COUNTS;

export type Ledger = HttpLedger<MessageEntry, EventKind, Counter>;
export type LedgerWriter = HttpLedgerWriter<MessageEntry, EventKind, Counter>;

export const createLedger = (keep: LedgerOptions['keep']): LedgerWriter =>
  createHttpLedger<MessageEntry, EventKind, Counter>({
    keep,
    zero: ZERO_COUNTS,
    counterOf: { status: 'statuses', inbound: 'inbounds', template: 'templates' },
  });

/** The time after which the pair may exchange one more message (Cloud API, rate limits). */
const PAIR_REFILL_MS = 6000;
/** The newest pairs of a number and a person whose messages are counted and whose window is known. */
const MAX_PAIRS = 200_000;

/** The rate limits of the simulator. */
export type Limits = {
  /** Counts a message; returns a fault when the number or the pair exceeds its limit. */
  take(phoneNumberId: string, person: string): Fault | null;
};

/** Creates the rate limits: per number, and per pair of a number and a person. */
export function createLimits(script: GraphScript): Limits {
  const numbers = new Map<string, TokenBucket>();
  const pairs = createRecentMap<{ used: number; at: number }>(() => MAX_PAIRS);

  function numberAllows(phoneNumberId: string): boolean {
    if (script.tps === 0) return true;
    const bucket = numbers.get(phoneNumberId) ?? createTokenBucket(script.tps);
    numbers.set(phoneNumberId, bucket);
    if (bucket.perSecond() !== script.tps) bucket.setRate(script.tps);
    if (!bucket.ready()) return false;
    bucket.take(1);
    return true;
  }

  function pairAllows(key: string): boolean {
    if (script.pairBurst === 0) return true;
    const now = performance.now();
    const pair = pairs.get(key);
    const used = pair ? Math.max(0, pair.used - (now - pair.at) / PAIR_REFILL_MS) : 0;
    if (used + 1 > script.pairBurst) return false;
    pairs.set(key, { used: used + 1, at: now });
    return true;
  }

  return {
    take(phoneNumberId, person) {
      if (!numberAllows(phoneNumberId))
        return { code: 130429, details: 'Cloud API message throughput has been reached.' };
      if (pairAllows(`${phoneNumberId}/${person}`)) return null;
      return { code: 131056, details: 'Too many messages sent from this phone number to the same person.' };
    },
  };
}

/** The customer service windows of the simulator. */
export type Windows = {
  /** Opens the window, because the person has written. */
  open(phoneNumberId: string, person: string): void;
  /** Returns true if free-form messages to the person are allowed. */
  isOpen(phoneNumberId: string, person: string): boolean;
};

/** Creates the customer service windows (Cloud API, rate limits). */
export function createWindows(script: GraphScript): Windows {
  const lastHeard = createRecentMap<number>(() => MAX_PAIRS);
  return {
    open: (phoneNumberId, person) => lastHeard.set(`${phoneNumberId}/${person}`, performance.now()),
    isOpen(phoneNumberId, person) {
      const at = lastHeard.get(`${phoneNumberId}/${person}`);
      return script.windowMs === 0 || (at !== undefined && performance.now() - at <= script.windowMs);
    },
  };
}

/** A regular response, of any status. */
export type Answer = Extract<SandboxAnswer, object>;

/** The HTTP status of error codes for which it is not 400 (Cloud API, error codes). */
const HTTP_STATUS: ReadonlyMap<number, number> = new Map([
  ...[0, 190].map((code): [number, number] => [code, 401]),
  ...[10, 200, 368, 130497, 131005, 131031].map((code): [number, number] => [code, 403]),
  ...[3, 131000, 131045, 131057].map((code): [number, number] => [code, 500]),
  ...[2, 131016, 133004].map((code): [number, number] => [code, 503]),
  [132001, 404],
]);

/** The titles of the codes that the simulator itself uses; a script may name any other code. */
const TITLES: ReadonlyMap<number, string> = new Map([
  [0, 'Authentication is not possible'],
  [2, 'Service is temporarily unavailable'],
  [100, 'Invalid parameter'],
  [190, 'The access token is not valid'],
  [130403, 'The business has blocked the person'],
  [130429, 'Rate limit hit'],
  [131000, 'Something went wrong'],
  [131008, 'Required parameter is missing'],
  [131009, 'Parameter value is not valid'],
  [131016, 'Service is unavailable'],
  [131021, 'Recipient cannot be the sender'],
  [131026, 'Message is undeliverable'],
  [131031, 'Account is locked'],
  [131047, 'Re-engagement message'],
  [131048, 'Spam rate limit hit'],
  [131049, 'Not delivered to keep a healthy ecosystem'],
  [131050, 'The person stopped marketing messages'],
  [131051, 'Message type is not supported'],
  [131053, 'Media upload error'],
  [131056, 'Pair rate limit hit'],
  [133005, 'Two step verification PIN mismatch'],
  [133010, 'Phone number not registered'],
  [131062, 'Recipient is not supported for this message'],
  [132000, 'Number of parameters does not match the template'],
  [132001, 'Template does not exist in that language'],
  [132005, 'Template text is too long with its values'],
  [132012, 'Parameter format does not match the template'],
  [132015, 'Template is paused'],
  [132016, 'Template is disabled'],
  [135000, 'Generic user error'],
  [2388019, 'Template limit reached'],
  [2388040, 'Character limit exceeded'],
  [2388299, 'Variables cannot be at the start or the end'],
]);

export const titleOf = (code: number): string => TITLES.get(code) ?? 'Error';

/** Reason for rejecting a request. */
export type Fault = { readonly code: number; readonly details: string };

/** Creates an error response in the documented format (Cloud API, error codes). */
export function faultAnswer({ code, details }: Fault): Answer {
  const error = {
    message: `(#${code}) ${titleOf(code)}`,
    type: 'OAuthException',
    code,
    error_data: { messaging_product: 'whatsapp', details },
    fbtrace_id: traceId(),
  };
  return { status: HTTP_STATUS.get(code) ?? 400, body: { error } };
}

/**
 * Creates the response to a call whose `appsecret_proof` is missing or wrong (texts as quoted in Yoctol/bottender#271
 * and facebook/facebook-python-business-sdk#528).
 */
export const proofFault = (given: boolean): Answer => ({
  status: 400,
  body: {
    error: {
      message: given
        ? 'Invalid appsecret_proof provided in the API argument'
        : 'API calls from the server require an appsecret_proof argument',
      type: 'GraphMethodException',
      code: 100,
      fbtrace_id: traceId(),
    },
  },
});

/** Creates the response for an object that does not exist or does not belong to this token. */
export const unknownObject = (id: string): Answer => ({
  status: 400,
  body: {
    error: {
      message:
        `Unsupported post request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, ` +
        'or does not support this operation. Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api',
      type: 'GraphMethodException',
      code: 100,
      error_subcode: 33,
      fbtrace_id: traceId(),
    },
  },
});

/** Creates a response with status 200. */
export const ok = (body: object): Answer => ({ status: 200, body });

const traceId = (): string => `A${randomBytes(17).toString('base64url')}`;
