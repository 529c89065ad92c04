import type { Inbound, Receipt, ReceiptState } from '../events.ts';
import { getMember, parseJson, getText } from '../json.ts';
import { constantTimeEqual } from '../../platform/lib/constant-time-equal.ts';
import { phoneDigits, readInstant, MAX_ID_LENGTH } from './fields.ts';
import { isSigned } from './signature.ts';
import { readUserMessage } from './user-message.ts';

/** A callback request with the data needed to verify it. */
export type CallbackRequest = {
  /** The bytes as received. */
  readonly rawBody: Uint8Array;
  /** The value of the header `X-Goog-Signature`. */
  readonly signature: string | undefined;
  /** The token that was given to the network when the callback URL was registered. */
  readonly clientToken: string;
};

/** A person unsubscribed from an agent's messages, or subscribed again. */
export type Subscription = {
  readonly agentId: string;
  /** The number in digits. */
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
export type OtherEvent = { readonly eventType: string; readonly agentId: string };

/** The events of one callback request; any list may be empty. */
export type RcsEvents = {
  readonly receipts: Receipt[];
  readonly inbounds: Inbound[];
  readonly subscriptions: Subscription[];
  readonly launches: LaunchChange[];
  readonly other: OtherEvent[];
};

/** The result of reading a callback request. */
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
