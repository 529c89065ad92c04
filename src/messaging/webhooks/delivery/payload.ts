import type { Channel } from '../../../platform/lib/channel.ts';
import { describeStatus, nameOfStatus, STATUS, type StatusName } from '../../states.ts';
import type { WebhookEventKind } from '../outbox/sql.ts';

/** The two payloads of the specification: A has eventType and statusCode, B a status in words. */
export type Form = 'A' | 'B';

/** What a body needs of a message that was sent. */
export type SentFacts = {
  readonly kind: 'sent';
  readonly clientId: string | null;
  readonly channel: Channel;
  readonly destination: string;
  /** The client wants to hear of it (`enableNotification`, `enableDelivery`). */
  readonly wantReceipt: boolean;
  readonly submittedAt: Date | null;
};

/** What a body needs of an inbound message. */
export type ReceivedFacts = {
  readonly kind: 'received';
  readonly channel: Channel;
  readonly messageType: string;
  readonly source: string;
  readonly destination: string;
  readonly text: string;
};

export type Facts = SentFacts | ReceivedFacts;

export type Told = {
  readonly kind: WebhookEventKind;
  readonly messageId: string;
  readonly status: number | null;
  readonly at: Date;
  readonly error: string | null;
};

/**
 * The body of a callback; null when there is nothing to tell: the form has no such event, or the client asked for none.
 * Pure: an event has the same body however often it is sent.
 */
export function bodyOf(form: Form, told: Told, facts: Facts): string | null {
  if (facts.kind === 'received') return form === 'A' && told.kind === 'INBOUND' ? inbound(told, facts) : null;
  if (!facts.wantReceipt || told.kind === 'INBOUND') return null;
  if (told.kind === 'READ') return form === 'A' ? read(told, facts) : null;
  const name = nameOfStatus(told.status ?? STATUS.UNKNOWN);
  return form === 'A' ? deliveryA(told, facts, name) : deliveryB(told, facts, name);
}

/** Carriers tell the minute, in time zones of their own: no end is told to be before the submit. */
function timestampOf(at: Date, { submittedAt }: SentFacts): string {
  return (submittedAt !== null && submittedAt > at ? submittedAt : at).toISOString();
}

const customerMessageId = ({ clientId }: SentFacts) => (clientId === null ? {} : { customerMessageId: clientId });

/** Before its end a message reads UNKNOWN on RCS and WhatsApp: being accepted changes nothing there. */
function deliveryA({ messageId, status, at }: Told, facts: SentFacts, name: StatusName): string | null {
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
    timestamp: timestampOf(at, facts),
  });
}

const IN_WORDS: Partial<Record<StatusName, string>> = { ACCEPTED: 'SENT', DELIVERED: 'DELIVERED', EXPIRED: 'EXPIRED' };

function deliveryB({ messageId, at, error }: Told, facts: SentFacts, name: StatusName): string {
  const status = IN_WORDS[name] ?? 'ERROR';
  return JSON.stringify({
    messageId,
    ...customerMessageId(facts),
    phoneNumber: facts.destination,
    status,
    timestamp: timestampOf(at, facts),
    channel: facts.channel.toLowerCase(),
    error: status === 'ERROR' ? (error ?? describeStatus(name)) : null,
  });
}

function read({ messageId, at }: Told, facts: SentFacts): string {
  const { destination, channel } = facts;
  return JSON.stringify({ eventType: 'READ', messageId, destination, channel, timestamp: timestampOf(at, facts) });
}

/** Carriers write numbers without the plus; what is no full number (a short code, a name) stays as it is. */
const withPlus = (address: string): string => (/^[1-9]\d{6,14}$/.test(address) ? `+${address}` : address);

const inbound = ({ at }: Told, { source, destination, text, channel, messageType }: ReceivedFacts): string =>
  JSON.stringify({
    eventType: 'INBOUND',
    source: withPlus(source),
    destination: withPlus(destination),
    text,
    channel,
    messageType,
    timestamp: at.toISOString(),
  });
