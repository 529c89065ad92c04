import { createHmac } from 'node:crypto';
import { constantTimeEqual } from '../../core/secrets.ts';
import type { Inbound, InboundMedia, InboundType, Receipt, ReceiptState } from '../carrier.ts';
import type { InboundContent } from '../inbound-content.ts';
import { getMember, getText, parseJson } from '../settings.ts';

type MessageContent = {
  readonly messageType: InboundType;
  readonly text: string;
  readonly media: InboundMedia | null;
  readonly content?: InboundContent;
};

/**
 * Reads what a person wrote, tapped or sent to an agent (RBM API, webhooks); null if the event is not a message or
 * names no sender. For a tap, `text` is the label of the suggestion.
 */
function readUserMessage(event: unknown, raw: Uint8Array): Inbound | null {
  const read = readContent(event);
  const source = phoneDigits(getText(event, 'senderPhoneNumber'));
  const id = getText(event, 'messageId');
  const destination = getText(event, 'agentId');
  if (!read || source === '' || id === '' || id.length > MAX_ID_LENGTH) return null;
  const { text, messageType, media, content } = read;
  const at = readInstant(event, 'sendTime');
  const person = { profileName: null, ownNumber: null };
  const rich = { channel: 'RCS', id, messageType, at, ...person, media, ...(content && { content }) } as const;
  return { source, destination, text, concat: null, raw, rich };
}

function readContent(event: unknown): MessageContent | null {
  const tap = getMember(event, 'suggestionResponse');
  const location = getMember(event, 'location');
  const file = getMember(getMember(event, 'userFile'), 'payload');
  if (typeof getMember(event, 'text') === 'string') return withoutMedia('TEXT', getText(event, 'text'));
  if (tap !== undefined) return readTap(tap);
  if (location !== undefined) return readLocation(location);
  return file === undefined ? null : readFile(file);
}

const withoutMedia = (messageType: InboundType, text: string): MessageContent => ({ messageType, text, media: null });

function readTap(tap: unknown): MessageContent {
  const [text, payload] = [getText(tap, 'text'), getText(tap, 'postbackData')];
  return { ...withoutMedia('BUTTON', text || payload), content: { button: { text, payload } } };
}

/** A missing member is 0: the network's JSON omits zeros. */
function readLocation(location: unknown): MessageContent {
  const degrees = (name: string): number => Number(getMember(location, name) ?? 0);
  const [latitude, longitude] = [degrees('latitude'), degrees('longitude')];
  if (latitude === undefined || longitude === undefined || !Number.isFinite(latitude + longitude))
    return withoutMedia('LOCATION', '');
  const place = { latitude, longitude, name: '', address: '', url: '' };
  return { ...withoutMedia('LOCATION', `${latitude},${longitude}`), content: { location: place } };
}

const TYPES: Readonly<Record<string, InboundType>> = { image: 'IMAGE', video: 'VIDEO', audio: 'AUDIO' };

function readFile(file: unknown): MessageContent {
  const [url, mimeType, fileName] = [getText(file, 'fileUri'), getText(file, 'mimeType'), getText(file, 'fileName')];
  const messageType = TYPES[mimeType.split('/')[0]?.toLowerCase() ?? ''] ?? 'DOCUMENT';
  const media = { id: null, url: url || null, mimeType: mimeType || null, fileName: fileName || null };
  return { messageType, text: '', media };
}

/**
 * Returns the value of the header `X-Goog-Signature` for the bytes of an event inside its envelope (RBM API, webhooks).
 */
export const signatureOf = (data: Uint8Array, clientToken: string): string =>
  createHmac('sha512', clientToken).update(data).digest('base64');

/** Returns true if the header is the signature of exactly these bytes, in constant time. */
const isSigned = (data: Uint8Array, header: string | undefined, clientToken: string): boolean =>
  header !== undefined && constantTimeEqual(header, signatureOf(data, clientToken));

/** Maximum characters of a message id; a longer one matches nothing and would not fit an index. */
const MAX_ID_LENGTH = 200;
const MAX_PHONE_DIGITS = 20;

/** Returns the digits of a phone number, without the plus sign; an empty string if it is not a number. */
function phoneDigits(number: string): string {
  const digits = number.replace(/^\+/, '');
  return digits.length <= MAX_PHONE_DIGITS && /^\d+$/.test(digits) ? digits : '';
}

/** Reads a member with an RFC 3339 instant of this century, with any number of decimals; null for anything else. */
function readInstant(event: unknown, name: string): Date | null {
  const text = getText(event, name);
  if (!/^20\d\d-\d\d-\d\dT/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : new Date(ms);
}

/** A callback request with the data needed to verify it. */
type CallbackRequest = {
  /** The bytes as received. */
  readonly rawBody: Uint8Array;
  /** The value of the header `X-Goog-Signature`. */
  readonly signature: string | undefined;
  /** The token that was given to the network when the callback URL was registered. */
  readonly clientToken: string;
};

/** A person unsubscribed from an agent's messages, or subscribed again. */
type Subscription = {
  readonly agentId: string;
  readonly phoneNumber: string;
  readonly subscribed: boolean;
  readonly at: Date | null;
};

/** The launch state of an agent in a region has changed. */
export type LaunchChange = {
  readonly agentId: string;
  readonly regionId: string;
  /** UNLAUNCHED, PENDING, LAUNCHED, REJECTED, SUSPENDED or PENDING_UNLAUNCH. */
  readonly state: string;
  readonly comment: string;
};

/** An event without consequences: typing, a failed revocation (the message may still arrive), or an unknown type. */
type OtherEvent = { readonly eventType: string; readonly agentId: string };

/** The events of one callback request; any list may be empty. */
type RcsEvents = {
  readonly receipts: Receipt[];
  readonly inbounds: Inbound[];
  readonly subscriptions: Subscription[];
  readonly launches: LaunchChange[];
  readonly other: OtherEvent[];
};

export type ReadCallback =
  /** Requires a response of 200 with exactly this text. */
  | { readonly kind: 'handshake'; readonly text: string }
  /** The signature does not match, or a handshake has another token. */
  | { readonly kind: 'forged' }
  | { readonly kind: 'malformed' }
  | ({ readonly kind: 'events' } & RcsEvents);

const MAX_SECRET_LENGTH = 1000;

/**
 * Reads a request of the network to our callback URL (RBM API, webhooks): the handshake that registers the URL, or an
 * event. The signature is verified on the event's own bytes before the event is read. Never throws: a signed event that
 * is unreadable is listed in `other`, since the network would repeat it for a week otherwise.
 */
export function readRcsCallback(request: CallbackRequest): ReadCallback {
  const json = parseJson(Buffer.from(request.rawBody).toString());
  const [secret, token] = [getMember(json, 'secret'), getMember(json, 'clientToken')];
  if (typeof secret === 'string' && typeof token === 'string') return answerHandshake(secret, token, request);
  const encoded = getMember(getMember(json, 'message'), 'data');
  if (typeof encoded !== 'string') return { kind: 'malformed' };
  const data = Buffer.from(encoded, 'base64');
  if (!isSigned(data, request.signature, request.clientToken)) return { kind: 'forged' };
  const found: RcsEvents = { receipts: [], inbounds: [], subscriptions: [], launches: [], other: [] };
  readEvent(parseJson(data.toString()), data, found);
  return { kind: 'events', ...found };
}

function answerHandshake(secret: string, token: string, { clientToken }: CallbackRequest): ReadCallback {
  if (!constantTimeEqual(token, clientToken)) return { kind: 'forged' };
  return secret.length > MAX_SECRET_LENGTH ? { kind: 'malformed' } : { kind: 'handshake', text: secret };
}

const STATES: ReadonlyMap<string, ReceiptState> = new Map([
  ['DELIVERED', 'DELIVERED'],
  ['READ', 'READ'],
  ['TTL_EXPIRATION_REVOKED', 'EXPIRED'],
]);

function readEvent(event: unknown, data: Buffer, found: RcsEvents): void {
  const eventType = getText(event, 'eventType');
  const agentId = getText(event, 'agentId');
  const state = STATES.get(eventType);
  const receipt = state && readReceipt(event, state, data);
  const subscription = readSubscription(event, eventType);
  const inbound = eventType === '' ? readUserMessage(event, data) : null;
  if (receipt) found.receipts.push(receipt);
  else if (subscription) found.subscriptions.push(subscription);
  else if (inbound) found.inbounds.push(inbound);
  else if (getText(event, 'newLaunchState') !== '') found.launches.push(readLaunch(event));
  else found.other.push({ eventType: eventType || 'UNREADABLE', agentId });
}

/** Events caused by a person have `senderPhoneNumber`; events of the network have `phoneNumber`. */
const phoneOf = (event: unknown): string =>
  phoneDigits(getText(event, 'senderPhoneNumber') || getText(event, 'phoneNumber'));

const MAX_RAW_LENGTH = 4000;

function readReceipt(event: unknown, state: ReceiptState, data: Buffer): Receipt | null {
  const id = getText(event, 'messageId');
  if (id === '' || id.length > MAX_ID_LENGTH) return null;
  return {
    carrierIds: [id],
    state,
    doneAt: readInstant(event, 'sendTime'),
    errorCode: state === 'EXPIRED' ? 'TTL_EXPIRATION_REVOKED' : null,
    destination: phoneOf(event),
    sender: getText(event, 'agentId'),
    raw: data.toString().slice(0, MAX_RAW_LENGTH).replaceAll('\0', '').toWellFormed(),
  };
}

function readSubscription(event: unknown, eventType: string): Subscription | null {
  const phoneNumber = phoneOf(event);
  if ((eventType !== 'SUBSCRIBE' && eventType !== 'UNSUBSCRIBE') || phoneNumber === '') return null;
  const at = readInstant(event, 'sendTime');
  return { agentId: getText(event, 'agentId'), phoneNumber, subscribed: eventType === 'SUBSCRIBE', at };
}

const readLaunch = (event: unknown): LaunchChange => ({
  agentId: getText(event, 'agentId'),
  regionId: getText(event, 'regionId'),
  state: getText(event, 'newLaunchState'),
  comment: getText(event, 'comment'),
});
