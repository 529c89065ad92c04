import { getMember, getText } from '../../carriers/json.ts';
import { type Fault, invalid } from './answer.ts';
import {
  anything,
  type Check,
  nonEmptyText,
  flag,
  instant,
  list,
  matching,
  number,
  object,
  oneOf,
  text,
  url,
} from './check.ts';

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
