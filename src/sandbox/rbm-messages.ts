import { getMember, getText } from '../channels/settings.ts';
import { newId } from '../core/ids.ts';
import {
  DELIVERED,
  type EventStep,
  type Fault,
  invalid,
  type LedgerWriter,
  type MessageEntry,
  type Outcome,
  type OutgoingEvent,
  type RbmScript,
} from './rbm-script.ts';
import { createRecentMap } from './smsc-ledger.ts';
import { createTimeline, type Random } from './smsc-script.ts';

/** A message that the simulator has accepted. */
export type Taken = {
  readonly agentId: string;
  /** E.164 with the plus sign. */
  readonly phone: string;
  readonly messageId: string;
  /** Requests with this id, including the first one. */
  requests: number;
  delivered: boolean;
  revoked: boolean;
  /** Null when no entries are kept. */
  readonly entry: MessageEntry | null;
};

/** The accepted messages and their events; see `createMessages`. */
export type Messages = {
  find(agentId: string, messageId: string): Taken | undefined;
  /** Accepts a message and schedules its events. Resolves once its early event, if it has one, was sent. */
  take(
    message: Omit<Taken, 'requests' | 'delivered' | 'revoked'>,
    outcome: Outcome,
    ttlMs: number | null,
  ): Promise<void>;
  /** Revokes a message; returns false when it was delivered, or is not known (any more). */
  revoke(agentId: string, phone: string, messageId: string): boolean;
  /** Returns the number of events that are not due yet. */
  scheduled(): number;
  stop(): void;
};

type MessagesOptions = {
  readonly script: RbmScript;
  readonly ledger: LedgerWriter;
  readonly random: Random;
  readonly send: (event: OutgoingEvent) => Promise<boolean>;
};

type Planned = { readonly message: Taken; readonly step: EventStep; readonly unreported?: boolean };

/** The events that show that a message reached the handset. */
const OF_DELIVERY: ReadonlySet<EventStep['event']> = new Set(['DELIVERED', 'READ']);

/** Creates the store of the newest `keepMessages` accepted messages, which also produces their events. */
export function createMessages({ script, ledger, random, send }: MessagesOptions): Messages {
  const taken = createRecentMap<Taken>(() => script.keepMessages);
  const plan = createTimeline<Planned>((planned) => void applyStep(planned));
  const keyOf = (agentId: string, messageId: string): string => `${agentId} ${messageId}`;

  async function take(
    { agentId, phone, messageId, entry }: Parameters<Messages['take']>[0],
    outcome: Outcome,
    ttlMs: number | null,
  ): Promise<void> {
    const message: Taken = { agentId, phone, messageId, entry, requests: 1, delivered: false, revoked: false };
    taken.set(keyOf(agentId, messageId), message);
    const steps = (outcome.steps ?? DELIVERED).map((step) => withinTtl(step, ttlMs));
    const [first, ...rest] = outcome.doubled ? steps.flatMap((step) => [step, step]) : steps;
    const unreported = outcome.unreported ?? false;
    for (const step of rest) schedule({ message, step, unreported });
    if (!first) return;
    if (outcome.early) await applyStep({ message, step: first });
    else schedule({ message, step: first, unreported });
  }

  function schedule(planned: Planned): void {
    const unreported = planned.unreported || random.chance(script.missingEventShare);
    const lateMs = random.chance(script.reorderEventShare) ? script.reorderMs : 0;
    plan.after(planned.step.afterMs + lateMs, { ...planned, unreported });
    if (unreported) return;
    if (random.chance(script.doubleEventShare)) plan.after(planned.step.afterMs, planned);
  }

  async function applyStep({ message, step: { event }, unreported }: Planned): Promise<void> {
    if (message.revoked && event !== 'UNSUBSCRIBE') return;
    if (OF_DELIVERY.has(event)) deliver(message);
    else if (event === 'TTL_EXPIRATION_REVOKED' && !message.delivered) markRevoked(message);
    if (unreported) return;
    if (random.chance(script.foreignEventShare)) void send(outgoingEvent({ ...message, messageId: newId() }, event));
    await send(outgoingEvent(message, event));
  }

  function deliver(message: Taken): void {
    message.delivered = true;
    if (message.entry) message.entry.delivered = true;
  }

  function markRevoked(message: Taken): void {
    message.revoked = true;
    if (message.entry) message.entry.revoked = true;
  }

  function revoke(agentId: string, phone: string, messageId: string): boolean {
    const message = taken.get(keyOf(agentId, messageId));
    const known = message !== undefined && message.phone === phone && !(message.revoked && script.forgetsRevoked);
    const revoked = known && !message.delivered;
    ledger.count(revoked ? 'revoked' : 'revokesRefused');
    if (!revoked) return false;
    if (random.chance(script.deliverRevokedShare)) return true;
    markRevoked(message);
    return true;
  }

  return {
    find: (agentId, messageId) => taken.get(keyOf(agentId, messageId)),
    take,
    revoke,
    scheduled: plan.size,
    stop: plan.stop,
  };
}

/** A message expires after its own TTL, unless the script is faster. */
function withinTtl(step: EventStep, ttlMs: number | null): EventStep {
  if (ttlMs === null || ttlMs >= step.afterMs || !step.event.startsWith('TTL_')) return step;
  return { ...step, afterMs: ttlMs };
}

/**
 * Events of the network have `phoneNumber`; events of a person have `senderPhoneNumber`. UNSUBSCRIBE concerns no
 * message.
 */
function outgoingEvent({ agentId, phone, messageId }: Taken, what: EventStep['event']): OutgoingEvent {
  const common = { eventType: what, eventId: newId(), sendTime: new Date().toISOString(), agentId };
  const person = what.startsWith('TTL_') ? { phoneNumber: phone } : { senderPhoneNumber: phone };
  const event = { ...person, ...(what !== 'UNSUBSCRIBE' && { messageId }), ...common };
  return { kind: 'event', id: messageId, what, agentId, event };
}

/**
 * Validates one value of a request; returns the fault, or null when the value is valid. `at` is the path of the value.
 */
type Check = (value: unknown, at: string) => string | null;

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const anything: Check = () => null;

/** Accepts a string of at most `maxLength` characters. */
const text =
  (maxLength: number): Check =>
  (value, at) => {
    if (typeof value !== 'string') return `Invalid value at '${at}' (TYPE_STRING)`;
    // An emoji counts as one character.
    return value.length <= maxLength || Array.from(value).length <= maxLength
      ? null
      : `${at} is longer than ${maxLength} characters`;
  };

/** Accepts a string of 1 to `maxLength` characters. */
const nonEmptyText =
  (maxLength: number): Check =>
  (value, at) =>
    value === '' ? `${at} must not be empty` : text(maxLength)(value, at);

/** Accepts a string that matches the pattern. */
const matching =
  (pattern: RegExp): Check =>
  (value, at) =>
    typeof value === 'string' && pattern.test(value) ? null : `Invalid value at '${at}'`;

const oneOf = (...values: readonly string[]): Check => matching(new RegExp(`^(${values.join('|')})$`));

const flag: Check = (value, at) => (typeof value === 'boolean' ? null : `Invalid value at '${at}' (TYPE_BOOL)`);

/** Accepts a number from `min` to `max`. */
const number =
  (min: number, max: number): Check =>
  (value, at) =>
    typeof value === 'number' && value >= min && value <= max ? null : `Invalid value at '${at}' (TYPE_DOUBLE)`;

/** Accepts an http or https URL of at most 2,048 characters. */
const url: Check = (value, at) => {
  const parsed = typeof value === 'string' && value.length <= 2048 ? URL.parse(value) : null;
  return parsed?.protocol === 'https:' || parsed?.protocol === 'http:' ? null : `${at} is not a valid URL`;
};

/** Accepts an RFC 3339 instant. */
const instant: Check = (value, at) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value))
    ? null
    : `Invalid value at '${at}' (type.googleapis.com/google.protobuf.Timestamp)`;

/** Accepts an array of `min` to `max` valid items. */
const list =
  (item: Check, min: number, max: number): Check =>
  (value, at) => {
    if (!Array.isArray(value)) return `Invalid value at '${at}' (repeated)`;
    if (value.length < min || value.length > max) return `${at} must have ${min} to ${max} items`;
    return firstFault(
      value.map((each: unknown, index) => [each, `${at}[${index}]`] as const),
      item,
    );
  };

function firstFault(places: readonly (readonly [unknown, string])[], check: Check): string | null {
  for (const [value, at] of places) {
    const fault = check(value, at);
    if (fault !== null) return fault;
  }
  return null;
}

type Shape = {
  readonly fields: Readonly<Record<string, Check>>;
  readonly required?: readonly string[];
  /** Exactly one of these must be present. */
  readonly exactlyOne?: readonly string[];
  /** At most one of these may be present. */
  readonly atMostOne?: readonly string[];
  /** At least one of these must be present. */
  readonly atLeastOne?: readonly string[];
};

/** Accepts an object that has no fields other than those of its shape, like Google's APIs. */
const object =
  (shape: Shape): Check =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return `Invalid value at '${at}' (TYPE_MESSAGE)`;
    for (const [name, member] of Object.entries(value)) {
      const check = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined;
      const place = at === '' ? snake(name) : `${at}.${snake(name)}`;
      if (!check)
        return `Invalid JSON payload received. Unknown name "${name}"${at && ` at '${at}'`}: Cannot find field.`;
      const fault = check(member, place);
      if (fault !== null) return fault;
    }
    return faultOfPresence(shape, (name) => Object.hasOwn(value, name), at);
  };

function faultOfPresence(shape: Shape, has: (name: string) => boolean, at: string): string | null {
  const { required = [], exactlyOne, atMostOne = [], atLeastOne } = shape;
  const missing = required.find((name) => !has(name));
  if (missing !== undefined) return `${at}.${snake(missing)} is required`;
  const chosen = exactlyOne?.filter(has).length ?? 1;
  if (chosen !== 1) return `${at} must have exactly one of ${(exactlyOne ?? []).join(', ')}`;
  if (atMostOne.filter(has).length > 1) return `${at} may have only one of ${atMostOne.join(', ')}`;
  return atLeastOne && !atLeastOne.some(has) ? `${at} must have at least one of ${atLeastOne.join(', ')}` : null;
}

// The limits and shapes of an AgentMessage.

const file = object({
  fields: { fileName: matching(/^files\/[\w-]+$/), thumbnailName: matching(/^files\/[\w-]+$/) },
  required: ['fileName'],
});
const contentInfo = object({ fields: { fileUrl: url, thumbnailUrl: url, forceRefresh: flag }, required: ['fileUrl'] });

const reply = object({
  fields: { text: nonEmptyText(25), postbackData: text(2048) },
  required: ['text', 'postbackData'],
});
const ACTIONS = {
  dialAction: object({ fields: { phoneNumber: matching(/^\+\d{3,15}$/) }, required: ['phoneNumber'] }),
  openUrlAction: object({
    fields: {
      url,
      application: oneOf('OPEN_URL_APPLICATION_UNSPECIFIED', 'BROWSER', 'WEBVIEW'),
      webviewViewMode: oneOf('WEBVIEW_VIEW_MODE_UNSPECIFIED', 'FULL', 'HALF', 'TALL'),
      description: text(2048),
    },
    required: ['url'],
  }),
  viewLocationAction: object({
    fields: {
      latLong: object({ fields: { latitude: number(-90, 90), longitude: number(-180, 180) } }),
      label: text(100),
      query: text(2048),
    },
    exactlyOne: ['latLong', 'query'],
  }),
  createCalendarEventAction: object({
    fields: { startTime: instant, endTime: instant, title: nonEmptyText(100), description: text(500) },
    required: ['startTime', 'endTime', 'title'],
  }),
  shareLocationAction: object({ fields: {} }),
} satisfies Record<string, Check>;
const action = object({
  fields: { text: nonEmptyText(25), postbackData: text(2048), fallbackUrl: url, ...ACTIONS },
  required: ['text', 'postbackData'],
  exactlyOne: Object.keys(ACTIONS),
});
const suggestion = object({ fields: { reply, action }, exactlyOne: ['reply', 'action'] });

const media = object({
  fields: { height: oneOf('SHORT', 'MEDIUM', 'TALL'), contentInfo, uploadedRbmFile: file, fileName: text(2048) },
  required: ['height'],
  exactlyOne: ['contentInfo', 'uploadedRbmFile', 'fileName'],
});
const cardContent = object({
  fields: { title: text(200), description: text(2000), media, suggestions: list(suggestion, 0, 4) },
  atLeastOne: ['title', 'description', 'media'],
});
const standaloneCard = object({
  fields: {
    cardOrientation: oneOf('VERTICAL', 'HORIZONTAL'),
    thumbnailImageAlignment: oneOf('THUMBNAIL_IMAGE_ALIGNMENT_UNSPECIFIED', 'LEFT', 'RIGHT'),
    cardContent,
  },
  required: ['cardOrientation', 'cardContent'],
});
const carouselCard = object({
  fields: { cardWidth: oneOf('SMALL', 'MEDIUM'), cardContents: list(cardContent, 2, 10) },
  required: ['cardWidth', 'cardContents'],
});

const contentMessage = object({
  fields: {
    text: nonEmptyText(3072),
    fileName: text(2048),
    uploadedRbmFile: file,
    richCard: object({ fields: { standaloneCard, carouselCard }, exactlyOne: ['standaloneCard', 'carouselCard'] }),
    contentInfo,
    suggestions: list(suggestion, 0, 11),
  },
  exactlyOne: ['text', 'fileName', 'uploadedRbmFile', 'richCard', 'contentInfo'],
});

const agentMessage = object({
  fields: {
    contentMessage,
    messageTrafficType: oneOf(
      'MESSAGE_TRAFFIC_TYPE_UNSPECIFIED',
      'AUTHENTICATION',
      'TRANSACTION',
      'PROMOTION',
      'SERVICEREQUEST',
      'ACKNOWLEDGEMENT',
    ),
    ttl: matching(/^\d+(\.\d{1,9})?s$/),
    expireTime: instant,
    // Set by the network itself.
    name: anything,
    sendTime: anything,
    richMessageClassification: anything,
    carrier: anything,
  },
  required: ['contentMessage'],
  atMostOne: ['ttl', 'expireTime'],
});

const agentEvent = object({
  fields: { eventType: oneOf('IS_TYPING', 'READ'), messageId: text(200), name: anything, sendTime: anything },
  required: ['eventType'],
});

const MAX_TTL_MS = 1_296_000_000;

/** Returns the lifetime of a message in milliseconds; null when it has none. */
export function ttlMsOf(message: unknown, now: number): number | null {
  const [ttl, expireTime] = [getText(message, 'ttl'), getText(message, 'expireTime')];
  if (ttl !== '') return Number.parseFloat(ttl) * 1000;
  return expireTime === '' ? null : Date.parse(expireTime) - now;
}

/** Validates a message; null when it is valid. */
export function faultOfMessage(message: unknown, now: number): Fault | null {
  const fault = agentMessage(message, 'agent_message');
  if (fault !== null) return invalid(fault);
  const ttlMs = ttlMsOf(message, now);
  if (ttlMs !== null && (ttlMs <= 0 || ttlMs > MAX_TTL_MS)) return invalid('The TTL of a message is up to 15 days.');
  return null;
}

/** Validates an agent event; null when it is valid. */
export function faultOfEvent(event: unknown): Fault | null {
  const fault = agentEvent(event, 'agent_event');
  if (fault !== null) return invalid(fault);
  const hasMessageId = typeof getMember(event, 'messageId') === 'string';
  const isRead = getText(event, 'eventType') === 'READ';
  return hasMessageId === isRead ? null : invalid('messageId is required for READ, and not allowed otherwise.');
}

const batch = object({
  fields: { users: list(matching(/^\+\d{7,15}$/), 0, 10_000), agentId: nonEmptyText(200) },
  required: ['users'],
});

/** Validates a batch check of at least `minimum` numbers; null when it is valid. */
export function faultOfBatch(body: unknown, minimum: number): Fault | null {
  const fault = batch(body, 'batch_get_users_request');
  if (fault !== null) return invalid(fault);
  const users = getMember(body, 'users');
  const count = Array.isArray(users) ? new Set(users).size : 0;
  return count >= minimum ? null : invalid(`users must have at least ${minimum} different numbers`);
}

const fileRequest = object({ fields: { fileUrl: url, thumbnailUrl: url }, required: ['fileUrl'] });

/** Validates a request to create a file; null when it is valid. */
export function faultOfFile(body: unknown): Fault | null {
  const fault = fileRequest(body, 'create_file_request');
  return fault === null ? null : invalid(fault);
}
