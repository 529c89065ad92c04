import type { Channel } from '../core/channels.ts';
import { describeStatus, nameOfStatus, STATUS, type StatusName } from '../core/message-state.ts';
import type { WebhookEventKind } from './outbox.ts';

/** The two payloads of the specification: A has eventType and statusCode, B has a status text. */
export type Form = 'A' | 'B';

/** Facts of a sent message for the body of an event. */
export type SentFacts = {
  readonly kind: 'sent';
  readonly clientId: string | null;
  readonly channel: Channel;
  readonly destination: string;
  /** True if the client requested events (`enableNotification`, `enableDelivery`). */
  readonly wantReceipt: boolean;
  readonly submittedAt: Date | null;
};

/** Facts of an inbound message for the body of an event. */
export type ReceivedFacts = {
  readonly kind: 'received';
  readonly channel: Channel;
  readonly messageType: string;
  readonly source: string;
  /** The account's number, or the id by which a network other than SMS knows it. */
  readonly destination: string;
  /** The account's number in digits, where `destination` is an id; null if unknown. */
  readonly ownNumber: string | null;
  readonly text: string;
};

export type Facts = SentFacts | ReceivedFacts;

/** The facts of the test event: a message to +15005550006 that never existed. */
export const sampleFacts = (submittedAt: Date): SentFacts => ({
  kind: 'sent',
  clientId: 'webhook-test',
  channel: 'SMS',
  destination: '+15005550006',
  wantReceipt: true,
  submittedAt,
});

/** An event as webhooks receive it. */
export type WebhookEvent = {
  readonly kind: WebhookEventKind;
  readonly messageId: string;
  readonly status: number | null;
  readonly at: Date;
  readonly error: string | null;
};

/**
 * Makes the body of an event, or null when there is nothing to send: the form has no such event, or the client did not
 * request it. Pure: an event has the same body however often it is sent.
 */
export function bodyOf(form: Form, event: WebhookEvent, facts: Facts): string | null {
  if (facts.kind === 'received') return form === 'A' && event.kind === 'INBOUND' ? inboundBody(event, facts) : null;
  if (!facts.wantReceipt || event.kind === 'INBOUND') return null;
  if (event.kind === 'READ') return form === 'A' ? readBody(event, facts) : null;
  const name = nameOfStatus(event.status ?? STATUS.UNKNOWN);
  return form === 'A' ? deliveryBodyA(event, facts, name) : deliveryBodyB(event, facts, name);
}

/**
 * Returns the time of an event. Carriers report minutes or seconds, in their own time zones: no end is reported as
 * earlier than the submit, which has the time at which it was recorded.
 */
function timestampOf({ at, status }: WebhookEvent, { submittedAt }: SentFacts): string {
  const isEarlier = submittedAt !== null && (status === STATUS.ACCEPTED || submittedAt > at);
  return (isEarlier ? submittedAt : at).toISOString();
}

const customerMessageId = ({ clientId }: SentFacts) => (clientId === null ? {} : { customerMessageId: clientId });

/**
 * Makes the body in form A. Before its end a message reads UNKNOWN on RCS and WhatsApp, so acceptance is not an event
 * there.
 */
function deliveryBodyA(event: WebhookEvent, facts: SentFacts, name: StatusName): string | null {
  const { messageId, status } = event;
  const { channel, destination } = facts;
  if (name === 'ACCEPTED' && channel !== 'SMS') return null;
  return JSON.stringify({
    eventType: 'DELIVERY',
    messageId,
    ...customerMessageId(facts),
    destination,
    statusCode: status,
    description: describeStatus(name),
    channel,
    timestamp: timestampOf(event, facts),
  });
}

const STATUS_TEXTS: Partial<Record<StatusName, string>> = {
  ACCEPTED: 'SENT',
  DELIVERED: 'DELIVERED',
  EXPIRED: 'EXPIRED',
};

function deliveryBodyB(event: WebhookEvent, facts: SentFacts, name: StatusName): string {
  const { messageId, error } = event;
  const status = STATUS_TEXTS[name] ?? 'ERROR';
  return JSON.stringify({
    messageId,
    ...customerMessageId(facts),
    phoneNumber: facts.destination,
    status,
    timestamp: timestampOf(event, facts),
    channel: facts.channel.toLowerCase(),
    error: status === 'ERROR' ? (error ?? describeStatus(name)) : null,
  });
}

function readBody(event: WebhookEvent, facts: SentFacts): string {
  const { destination, channel } = facts;
  return JSON.stringify({
    eventType: 'READ',
    messageId: event.messageId,
    destination,
    channel,
    timestamp: timestampOf(event, facts),
  });
}

/** Adds the plus that carriers omit; anything but a full number (a short code, a name) is unchanged. */
const withPlus = (address: string): string => (/^[1-9]\d{6,14}$/.test(address) ? `+${address}` : address);

/** Returns the account's number if known, and otherwise the id that the network has for it. */
const receiverOf = ({ channel, destination, ownNumber }: ReceivedFacts): string => {
  if (channel === 'SMS') return withPlus(destination);
  return ownNumber === null ? destination : withPlus(ownNumber);
};

const inboundBody = ({ at }: WebhookEvent, facts: ReceivedFacts): string =>
  JSON.stringify({
    eventType: 'INBOUND',
    source: withPlus(facts.source),
    destination: receiverOf(facts),
    text: facts.text,
    channel: facts.channel,
    messageType: facts.messageType,
    timestamp: at.toISOString(),
  });

const SUFFIX_AT = 32;

/**
 * Makes the id of an event: the UUIDv7 of its row (`seed`), with the last 16 bits XORed with its place in the row.
 * Pure, so that a worker that takes over from a dead one sends the same event under the same `webhook-id`.
 */
export function eventIdOf(seed: string, place: number): string {
  const suffix = Number.parseInt(seed.slice(SUFFIX_AT), 16) ^ place;
  return seed.slice(0, SUFFIX_AT) + suffix.toString(16).padStart(4, '0');
}
