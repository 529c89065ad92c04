import { randomBytes } from 'node:crypto';
import { signatureOf } from '../channels/rcs/callbacks.ts';
import { getList, getMember, getText } from '../channels/settings.ts';
import { newId } from '../core/ids.ts';
import {
  createHttpLedger,
  createPoster,
  type EventEntry as EventOf,
  type HttpLedger,
  type HttpLedgerWriter,
  POSTER_DEFAULTS,
  type PosterScript,
  type SandboxAnswer,
} from './http-server.ts';
import type { LedgerOptions, Stamp } from './ledger.ts';

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

/** One message that reached the simulator, accepted or rejected. */
export type MessageEntry = Stamp & {
  readonly kind: 'message';
  readonly agentId: string;
  /** E.164 with the plus sign. */
  readonly destination: string;
  readonly messageId: string;
  /** The AgentMessage as received; undefined when it was not JSON. */
  readonly message: unknown;
  /** The error status; `OK` when the message was accepted. */
  readonly status: string;
  /** Further requests with the same id, which have no effect. */
  repeats: number;
  /** True if the message reached the handset; set at the latest when this was reported. */
  delivered: boolean;
  /** True if the message was revoked before it was shown. */
  revoked: boolean;
};

type EventKind = 'event' | 'inbound' | 'launch';
/** An event of a message, an inbound message with its own id, or a change of an agent's launch state. */
type EventEntry = EventOf<EventKind>;

const ZERO_COUNTS = {
  requests: 0,
  messages: 0,
  accepted: 0,
  refused: 0,
  /** Requests with an id that was accepted already. */
  repeats: 0,
  tokens: 0,
  tokensRefused: 0,
  /** Requests without a token, or with an invalid one. */
  unauthorized: 0,
  revoked: 0,
  revokesRefused: 0,
  capabilityChecks: 0,
  batchChecks: 0,
  events: 0,
  inbounds: 0,
  launches: 0,
  acked: 0,
  lost: 0,
  /** Callback requests that were sent, repetitions included. */
  callbacks: 0,
};
type Counter = keyof typeof ZERO_COUNTS;

export type Ledger = HttpLedger<MessageEntry, EventKind, Counter>;
export type LedgerWriter = HttpLedgerWriter<MessageEntry, EventKind, Counter>;

export const createLedger = (keep: LedgerOptions['keep']): LedgerWriter =>
  createHttpLedger<MessageEntry, EventKind, Counter>({
    keep,
    zero: ZERO_COUNTS,
    counterOf: { event: 'events', inbound: 'inbounds', launch: 'launches' },
  });

const ACTIONS: readonly (readonly [string, Feature])[] = [
  ['dialAction', 'ACTION_DIAL'],
  ['viewLocationAction', 'ACTION_VIEW_LOCATION'],
  ['shareLocationAction', 'ACTION_SHARE_LOCATION'],
  ['createCalendarEventAction', 'ACTION_CREATE_CALENDAR_EVENT'],
];

/** Returns the features that a handset needs for a valid message (RBM API, agentMessages and capabilities). */
export function featuresOf(message: unknown): Set<Feature> {
  const needed = new Set<Feature>();
  const content = getMember(message, 'contentMessage');
  addActions(content, needed);
  const card = getMember(content, 'richCard');
  if (card === undefined) return needed;
  const standalone = getMember(card, 'standaloneCard');
  needed.add(standalone === undefined ? 'RICHCARD_CAROUSEL' : 'RICHCARD_STANDALONE');
  const cards =
    standalone === undefined
      ? getList(getMember(card, 'carouselCard'), 'cardContents')
      : [getMember(standalone, 'cardContent')];
  for (const each of cards) {
    addActions(each, needed);
    if (holdsPdf(each)) needed.add('PDF_IN_RICH_CARDS');
  }
  return needed;
}

function addActions(owner: unknown, needed: Set<Feature>): void {
  for (const suggestion of getList(owner, 'suggestions')) {
    const action = getMember(suggestion, 'action');
    for (const [name, feature] of ACTIONS) if (getMember(action, name) !== undefined) needed.add(feature);
    const openUrl = getMember(action, 'openUrlAction');
    if (openUrl === undefined) continue;
    needed.add('ACTION_OPEN_URL');
    if (getText(openUrl, 'application') === 'WEBVIEW') needed.add('ACTION_OPEN_URL_IN_WEBVIEW');
  }
}

const holdsPdf = (card: unknown): boolean =>
  /\.pdf($|\?)/i.test(getText(getMember(getMember(card, 'media'), 'contentInfo'), 'fileUrl'));

/** Returns the names of the uploaded files that a message refers to. */
export function uploadsOf(message: unknown): string[] {
  const names: string[] = [];
  const text = JSON.stringify(message);
  if (!text.includes('uploadedRbmFile')) return names;
  for (const [, name] of text.matchAll(/"(?:fileName|thumbnailName)":"(files\/[\w-]+)"/g)) if (name) names.push(name);
  return names;
}

/** An event to report to the client. */
export type OutgoingEvent = {
  readonly kind: EventEntry['kind'];
  /** The id of the message that the event is about. */
  readonly id: string;
  readonly what: string;
  readonly agentId: string;
  /** The object to sign and send as JSON. */
  readonly event: object;
};

/** The signed callbacks of the simulator. */
export type Callbacks = {
  /** Resolves with true if the client returned 200; immediately with false without a URL, or when the queue is full. */
  send(event: OutgoingEvent): Promise<boolean>;
  /**
   * Performs the handshake with a URL and sends the events there from then on. Resolves with false, and changes
   * nothing, when the response is not the secret (RBM API, webhooks).
   */
  register(url: string): Promise<boolean>;
  /** Returns the number of callbacks that are not acknowledged yet. */
  waiting(): number;
  /** Resolves when every callback so far was acknowledged or given up. */
  idle(): Promise<void>;
  stop(): Promise<void>;
};

type CallbackOptions = {
  readonly script: RbmScript;
  readonly ledger: LedgerWriter;
  readonly clientToken: string;
};

/** Creates the callbacks; without a registered URL, events are lost. */
export function createCallbacks({ script, ledger, clientToken }: CallbackOptions): Callbacks {
  const poster = createPoster(script);
  let url: string | null = null;

  function send(event: OutgoingEvent): Promise<boolean> {
    const entry = ledger.recordEvent(event);
    return new Promise((resolve) => {
      const end = (result: { acked: boolean; tries: number }): void => {
        ledger.count('callbacks', result.tries);
        ledger.recordResult(entry, result);
        resolve(result.acked);
      };
      const queued = url !== null && poster.push({ url, ...envelopeOf(event, clientToken) }, end);
      if (!queued) end({ acked: false, tries: 0 });
    });
  }

  function register(newUrl: string): Promise<boolean> {
    const secret = randomBytes(8).toString('hex');
    const headers = { 'x-goog-webhook-type': 'verification' };
    return new Promise((resolve) => {
      const pushed = poster.push({ url: newUrl, headers, body: JSON.stringify({ clientToken, secret }) }, (result) => {
        const proven = result.acked && result.body.toString() === secret;
        if (proven) url = newUrl;
        resolve(proven);
      });
      if (!pushed) resolve(false);
    });
  }

  return { send, register, waiting: poster.waiting, idle: poster.idle, stop: poster.stop };
}

const TYPES = { event: 'event', inbound: 'message', launch: 'agent_launch_event' } as const;

/** Wraps an event in its envelope and signs the wrapped bytes. */
function envelopeOf({ kind, what, agentId, event }: OutgoingEvent, clientToken: string): SealedCallback {
  const data = Buffer.from(JSON.stringify(event));
  const attributes = { type: TYPES[kind], business_id: agentId, product: 'RBM', event_type: what };
  const message = {
    data: data.toString('base64'),
    messageId: newId(),
    publishTime: new Date().toISOString(),
    attributes,
  };
  return {
    headers: { 'x-goog-signature': signatureOf(data, clientToken) },
    body: JSON.stringify({ message, subscription: 'projects/sandbox/subscriptions/rbm' }),
  };
}

type SealedCallback = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

const STATUSES = {
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
} as const;

/** The name of an error status of Google's APIs. */
export type ErrorName = keyof typeof STATUSES;

/** Reason for rejecting a request, in the terms of Google's APIs (RBM API, errors). */
export type Fault = { readonly name: ErrorName; readonly text: string };

const TEXTS: Readonly<Record<ErrorName, string>> = {
  INVALID_ARGUMENT: 'Request contains an invalid argument.',
  UNAUTHENTICATED:
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  PERMISSION_DENIED: 'The caller does not have permission',
  NOT_FOUND: 'Requested entity was not found.',
  RESOURCE_EXHAUSTED: 'Resource has been exhausted (e.g. check quota).',
  INTERNAL: 'Internal error encountered.',
  UNAVAILABLE: 'The service is currently unavailable.',
};

/** Creates a fault, by default with Google's standard text. */
export const faultOf = (name: ErrorName, text: string = TEXTS[name]): Fault => ({ name, text });

export const invalid = (text: string): Fault => faultOf('INVALID_ARGUMENT', text);

/** Creates the response to a rejected request, in the format of Google's APIs. */
export const refuse = ({ name, text }: Fault): SandboxAnswer => ({
  status: STATUSES[name],
  body: { error: { code: STATUSES[name], message: text, status: name } },
});

/** Creates a response with status 200. */
export const ok = (body: object): SandboxAnswer => ({ status: 200, body });
