import type { Inbound, Receipt, ReceiptState } from '../events.ts';
import { memberOf, parseJson, wordsIn } from '../json.ts';
import { sameText } from '../../platform/lib/constant-time-equal.ts';
import { digitsOf, instantIn, LONGEST_ID } from './fields.ts';
import { isSigned } from './signature.ts';
import { readUserMessage } from './user-message.ts';

export type CallbackRequest = {
  readonly rawBody: Uint8Array;
  /** The header `X-Goog-Signature`. */
  readonly signature: string | undefined;
  /** What we gave to the network when the address was registered. */
  readonly clientToken: string;
};

/** A person does not want an agent's messages any more, or wants them again. */
export type Subscription = {
  readonly agentId: string;
  /** Digits. */
  readonly phoneNumber: string;
  readonly subscribed: boolean;
  readonly at: Date | null;
};

/** An agent may send in another region, or not any more. */
export type LaunchChange = {
  readonly agentId: string;
  readonly regionId: string;
  /** UNLAUNCHED, PENDING, LAUNCHED, REJECTED, SUSPENDED or PENDING_UNLAUNCH. */
  readonly state: string;
  readonly comment: string;
};

/** What nothing follows from: typing, a failed revocation (the message may still arrive), and what nobody knows yet. */
export type OtherEvent = { readonly eventType: string; readonly agentId: string };

export type RcsEvents = {
  readonly receipts: Receipt[];
  readonly inbounds: Inbound[];
  readonly subscriptions: Subscription[];
  readonly launches: LaunchChange[];
  readonly other: OtherEvent[];
};

export type ReadCallback =
  /** To be answered 200 with this text alone. */
  | { readonly kind: 'handshake'; readonly text: string }
  /** Not signed by the network, or a handshake with another token. */
  | { readonly kind: 'forged' }
  | { readonly kind: 'malformed' }
  | ({ readonly kind: 'events' } & RcsEvents);

const LONGEST_SECRET = 1000;

/**
 * Reads a request of the network to our address (protocol sheet rcs, section 6): the handshake by which it is
 * registered, or an event. An event is believed by the signature of its own octets, and not read before. Never throws:
 * an event that is signed and not readable is listed in `other`, since the network would repeat it for a week.
 */
export function readRcsCallback(request: CallbackRequest): ReadCallback {
  const json = parseJson(Buffer.from(request.rawBody).toString());
  const [secret, token] = [memberOf(json, 'secret'), memberOf(json, 'clientToken')];
  if (typeof secret === 'string' && typeof token === 'string') return answerHandshake(secret, token, request);
  const written = memberOf(memberOf(json, 'message'), 'data');
  if (typeof written !== 'string') return { kind: 'malformed' };
  const data = Buffer.from(written, 'base64');
  if (!isSigned(data, request.signature, request.clientToken)) return { kind: 'forged' };
  const found: RcsEvents = { receipts: [], inbounds: [], subscriptions: [], launches: [], other: [] };
  readEvent(parseJson(data.toString()), data, found);
  return { kind: 'events', ...found };
}

function answerHandshake(secret: string, token: string, { clientToken }: CallbackRequest): ReadCallback {
  if (!sameText(token, clientToken)) return { kind: 'forged' };
  return secret.length > LONGEST_SECRET ? { kind: 'malformed' } : { kind: 'handshake', text: secret };
}

const STATES: ReadonlyMap<string, ReceiptState> = new Map([
  ['DELIVERED', 'DELIVERED'],
  ['READ', 'READ'],
  ['TTL_EXPIRATION_REVOKED', 'EXPIRED'],
]);

function readEvent(event: unknown, data: Buffer, found: RcsEvents): void {
  const eventType = wordsIn(event, 'eventType');
  const agentId = wordsIn(event, 'agentId');
  const state = STATES.get(eventType);
  const receipt = state && readReceipt(event, state, data);
  const subscription = readSubscription(event, eventType);
  const inbound = eventType === '' ? readUserMessage(event, data) : null;
  if (receipt) found.receipts.push(receipt);
  else if (subscription) found.subscriptions.push(subscription);
  else if (inbound) found.inbounds.push(inbound);
  else if (wordsIn(event, 'newLaunchState') !== '') found.launches.push(readLaunch(event));
  else found.other.push({ eventType: eventType || 'UNREADABLE', agentId });
}

/** Events of persons name them as senders, events of the network as the phone. */
const phoneOf = (event: unknown): string =>
  digitsOf(wordsIn(event, 'senderPhoneNumber') || wordsIn(event, 'phoneNumber'));

const LONGEST_RAW = 4000;

function readReceipt(event: unknown, state: ReceiptState, data: Buffer): Receipt | null {
  const id = wordsIn(event, 'messageId');
  if (id === '' || id.length > LONGEST_ID) return null;
  return {
    carrierIds: [id],
    state,
    doneAt: instantIn(event, 'sendTime'),
    errorCode: state === 'EXPIRED' ? 'TTL_EXPIRATION_REVOKED' : null,
    destination: phoneOf(event),
    sender: wordsIn(event, 'agentId'),
    raw: data.toString().slice(0, LONGEST_RAW).replaceAll('\0', '').toWellFormed(),
  };
}

function readSubscription(event: unknown, eventType: string): Subscription | null {
  const phoneNumber = phoneOf(event);
  if ((eventType !== 'SUBSCRIBE' && eventType !== 'UNSUBSCRIBE') || phoneNumber === '') return null;
  const at = instantIn(event, 'sendTime');
  return { agentId: wordsIn(event, 'agentId'), phoneNumber, subscribed: eventType === 'SUBSCRIBE', at };
}

const readLaunch = (event: unknown): LaunchChange => ({
  agentId: wordsIn(event, 'agentId'),
  regionId: wordsIn(event, 'regionId'),
  state: wordsIn(event, 'newLaunchState'),
  comment: wordsIn(event, 'comment'),
});
