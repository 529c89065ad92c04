import { createHash } from 'node:crypto';
import { type GivenTlv, readGivenTlvs } from '../channels/message-tlvs.ts';
import type { Channel, Purpose } from '../core/channels.ts';
import { type FieldError, invalidFields } from '../core/errors.ts';
import { withAmounts } from '../core/money.ts';
import { NUMBER_FAULTS } from '../core/phone.ts';
import { fillPlaceholders, MAX_PLACEHOLDER_NAME_LENGTH } from '../core/schema.ts';
import { MINUTE_MS, parseScheduledDate, scheduleFault } from '../core/time.ts';
import type { Caller } from '../core/tracing.ts';
import type { Shortage } from '../money/credit.ts';
import { isInGroup, udhFault } from '../smpp/text.ts';
import type { StoredContent } from '../templates/content.ts';
import type { ReceiptRequest } from '../webhooks/smpp-outbox.ts';
import type { ClientData } from '../webhooks/urls.ts';
import type { BilledTemplate } from './billing.ts';
import type { Hold } from './calendar.ts';
import type { Coded } from './codes.ts';
import type { NextChannel } from './fallback-store.ts';
import { NO_PUBLIC_URL } from './opt-out-links.ts';
import type { BulkIn, MessageServerIn, SendIn } from './send-schema.ts';
import type { Encoding } from './smart-encoding.ts';

/**
 * Reads the specification's body as a draft. Errors: 400 naming every invalid field that the schema alone cannot
 * detect, such as two names of one field with different values.
 */
export function readSend(body: SendIn, now: Date): Draft {
  refuseFaults([...aliasFaults('senderName', body.senderName, 'sender', body.sender), ...optionFaults(body, now)]);
  return newDraft({
    channel: 'SMS',
    source: 'API',
    clientId: body.customerMessageId ?? null,
    destination: body.phoneNumber,
    sender: body.senderName ?? body.sender ?? '',
    body: body.message,
    values: body.placeholders,
    userIp: body.userIp,
    ...optionsOfSend(body, now),
  });
}

/**
 * Reads the message server's own body as a draft. Errors: 400 naming every invalid field that the schema alone cannot
 * detect.
 */
export function readMessageServer(body: MessageServerIn, now: Date): Draft {
  refuseFaults([...clientIdFaults(body), ...optionFaults(body, now)]);
  return newDraft({
    channel: 'SMS',
    source: 'API',
    clientId: clientIdOf(body),
    destination: body.destination,
    sender: body.sender,
    body: body.body,
    values: body.placeholders,
    ...optionsOfSend(body, now),
  });
}

/** Fields of all sends that a client gets back with its events and records. */
type ClientFields = {
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly callbackUrl?: string | undefined;
};

/** Reads them as fields of a draft; most sends have none. */
export function clientDataOf({ metadata = {}, tags = [], callbackUrl }: ClientFields): Partial<Draft> {
  const clientData = {
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(tags.length > 0 && { tags }),
  };
  return {
    ...(Object.keys(clientData).length > 0 && { clientData }),
    ...(callbackUrl !== undefined && { callbackUrl }),
  };
}

/** Fields that both bodies have in common. */
type SendOptions = Pick<
  MessageServerIn,
  | 'placeholders'
  | 'udhData'
  | 'enableNotification'
  | 'scheduledDate'
  | 'validityPeriod'
  | 'simulation'
  | 'tlvs'
  | 'purpose'
  | 'respectCalendar'
  | 'encoding'
  | keyof ClientFields
>;

/** Returns a text with the placeholders for which a draft has values filled. */
export function withValues(text: string, { values }: Pick<Draft, 'values'>): string {
  if (values === undefined) return text;
  const byName = new Map(Object.entries(values));
  return fillPlaceholders(text, (name) => byName.get(name));
}

function optionsOfSend(options: SendOptions, now: Date) {
  const scheduledAt = readSchedule(options.scheduledDate);
  return {
    udh: headerOf(options.udhData),
    simulation: options.simulation ?? false,
    wantReceipt: options.enableNotification ?? true,
    validUntil: readValidity(options.validityPeriod, scheduledAt ?? now),
    scheduledAt,
    ...(options.tlvs && { tlvs: octetsOf(options.tlvs) }),
    purpose: options.purpose,
    respectCalendar: options.respectCalendar,
    encoding: options.encoding,
    ...clientDataOf(options),
  };
}

/** Encodes parameters that were checked. */
export function octetsOf(tlvs: readonly GivenTlv[] | null | undefined): Buffer | null {
  const read = tlvs && readGivenTlvs(tlvs);
  return read && 'octets' in read ? read.octets : null;
}

/** Returns the instant after which a message is no longer delivered; null without a validity period. */
export const readValidity = (minutes: number | undefined, from: Date): Date | null =>
  minutes === undefined ? null : new Date(from.getTime() + minutes * MINUTE_MS);

/** Returns the bytes of a user data header; null without one. */
const headerOf = (udhData = ''): Buffer | null => (udhData === '' ? null : Buffer.from(udhData, 'hex'));

function headerFaults(udhData: string | undefined, field: string): FieldError[] {
  const header = headerOf(udhData);
  const message = header && udhFault(header);
  return message ? [{ field, message }] : [];
}

function optionFaults(options: SendOptions, now: Date): FieldError[] {
  const { udhData, scheduledDate, placeholders = {} } = options;
  const faults: FieldError[] = [];
  if (Object.keys(placeholders).some((name) => name.length > MAX_PLACEHOLDER_NAME_LENGTH))
    faults.push({
      field: 'placeholders',
      message: `must have names of at most ${MAX_PLACEHOLDER_NAME_LENGTH} characters`,
    });
  faults.push(...headerFaults(udhData, 'udhData'));
  const schedule = scheduleFault(scheduledDate, now);
  if (schedule !== null) faults.push({ field: 'scheduledDate', message: schedule });
  const read = readGivenTlvs(options.tlvs ?? []);
  if ('fault' in read) faults.push({ field: `tlvs${read.fault.place}`, message: read.fault.message });
  return faults;
}

/** Reads the scheduled time of a message; null when there is none. */
export const readSchedule = (text: string | undefined): Date | null =>
  text === undefined ? null : parseScheduledDate(text);

/** Maximum errors named in one response: a request may have a million. */
const MAX_LISTED_FAULTS = 100;

/** Throws 400 with the errors, if there are any. */
export function refuseFaults(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalidFields(faults.slice(0, MAX_LISTED_FAULTS));
}

/**
 * Reads the bulk body as drafts, one for each destination in the order of the request. Errors: 400 naming every field
 * that is invalid in a way the schema alone cannot detect.
 */
export function readBulk(bulk: BulkIn, now: Date): Draft[] {
  refuseFaults(bulk.messages.flatMap((message, at) => bulkFaults(message, `messages[${at}]`, now)));
  return bulk.messages.flatMap((message) => {
    const shared = newDraft({
      channel: 'SMS',
      source: 'API',
      destination: '',
      sender: message.sender,
      scheduledAt: readSchedule(message.scheduling),
      validUntil: readValidity(message.validityPeriod, readSchedule(message.scheduling) ?? now),
      priority: 1,
      purpose: message.purpose ?? bulk.purpose,
      respectCalendar: bulk.respectCalendar,
      encoding: bulk.encoding,
      ...contentOf(message),
      ...optionsOf(bulk),
      ...clientDataOf({
        metadata: message.metadata ?? bulk.metadata,
        tags: message.tags ?? bulk.tags,
        callbackUrl: bulk.callbackUrl,
      }),
    });
    return message.destinations.map((destination, i) => ({
      ...shared,
      destination,
      clientId: bulkClientId(message, i),
    }));
  });
}

type BulkMessage = BulkIn['messages'][number];

function bulkFaults(
  { destinations, ids, customerMessageId, body, hexBody, udhData, scheduling }: BulkMessage,
  path: string,
  now: Date,
): FieldError[] {
  const faults: FieldError[] = [];
  if (ids && ids.length !== destinations.length)
    faults.push({ field: `${path}.ids`, message: 'must have one id for each destination' });
  if (customerMessageId !== undefined && (ids || destinations.length > 1))
    faults.push({
      field: `${path}.customerMessageId`,
      message: ids ? 'must not be given together with ids' : 'is for one destination: use ids for several',
    });
  if (body === undefined && hexBody === undefined)
    faults.push({ field: `${path}.body`, message: 'is required (or hexBody)' });
  if (body !== undefined && hexBody !== undefined)
    faults.push({ field: `${path}.hexBody`, message: 'must not be given together with body' });
  faults.push(...headerFaults(udhData, `${path}.udhData`));
  const schedule = scheduleFault(scheduling, now);
  if (schedule !== null) faults.push({ field: `${path}.scheduling`, message: schedule });
  return faults;
}

const optionsOf = (bulk: BulkIn) => ({
  simulation: bulk.simulation ?? false,
  wantReceipt: bulk.enableDelivery ?? true,
  maxParts: bulk.enableConcatenated === false ? 1 : undefined,
  gsmOnly: bulk.enableUnicode === false,
});

function contentOf({ body, hexBody, udhData }: BulkMessage): Pick<Draft, 'body' | 'binary' | 'udh'> {
  if (hexBody === undefined) return { body: body ?? '', binary: null, udh: headerOf(udhData) };
  return { body: '', binary: { udh: Buffer.from(udhData ?? '', 'hex'), data: Buffer.from(hexBody, 'hex') }, udh: null };
}

/** One message to one destination as requested by a client: its form has been checked, its content has not. */
export type Draft = {
  readonly channel: Channel;
  readonly source: 'API' | 'CAMPAIGN' | 'INBOX';
  /** The client's own reference, or null. */
  readonly clientId: string | null;
  /** The number as the client wrote it. */
  readonly destination: string;
  /** True if the gateway holds the number in E.164: it is from a conversation, or from the message before. */
  readonly isKnownNumber?: boolean;
  readonly sender: string;
  readonly body: string;
  /** Values for placeholders of the body. Values are data: an `{{optout}}` in one is not a link. */
  readonly values?: Readonly<Record<string, string>> | undefined;
  /** Content on RCS and WhatsApp; `body` is then its readable text and may be empty. */
  readonly content?: StoredContent | null;
  /** The template of the content, for its price. */
  readonly template?: BilledTemplate | null;
  /** Purpose of the message; by default that of its template, then that of the API key or the account. */
  readonly purpose?: Purpose | null | undefined;
  /** True if it waits for the hours that the rules of the recipient's country allow. */
  readonly respectCalendar?: boolean | undefined;
  /**
   * Bytes sent instead of a text, after the user data header, which may be empty: 8-bit data, or with a `dataCoding` a
   * part of a text that is not readable by itself.
   */
  readonly binary: { readonly udh: Uint8Array; readonly data: Uint8Array; readonly dataCoding?: number } | null;
  /** Coding of a text submitted over SMPP, for a message that replaces it. */
  readonly dataCoding?: number;
  /** SMPP parameters passed on to the carrier, as on the wire. */
  readonly tlvs?: Uint8Array | null;
  /** A user data header before the text. */
  readonly udh: Uint8Array | null;
  readonly simulation: boolean;
  readonly wantReceipt: boolean;
  readonly validUntil: Date | null;
  /** The message is not sent before this instant; null: it is sent immediately. */
  readonly scheduledAt: Date | null;
  /** -1 code of a verification, 0 single, 1 bulk, 2 campaign: lower numbers go first. */
  readonly priority: -1 | 0 | 1 | 2;
  /** The address of the user who asked for the code in it, for the guard against pumping. */
  readonly userIp?: string | undefined;
  /** The decision of the guard by which it passes. */
  readonly decisionId?: string | undefined;
  /** Set if its text has bullets in place of the code of a verification. */
  readonly coded?: Coded | undefined;
  /** Maximum parts per SMS, when fewer than `MAX_PARTS`. */
  readonly maxParts?: number | undefined;
  /** Encoding of an SMS; undefined: auto. */
  readonly encoding?: Encoding | undefined;
  /** True if a text with characters outside GSM 03.38 is rejected. */
  readonly gsmOnly?: boolean;
  /** The messages that follow when this one fails or takes too long, next first. */
  readonly nextChannels?: readonly NextChannel[];
  /** True if it follows another message, which holds the client id. */
  readonly isFollowing?: boolean;
  /** Data that the client gets back with events and records. */
  readonly clientData: ClientData | null;
  /** URL for the events of the message; the route finds the endpoint at that host (`findCallback`). */
  readonly callbackUrl?: string;
  /** True if it answers a STOP, START or HELP: the person gets it whatever they have said. */
  readonly answersConsent?: boolean;
  /** The caller's decision about the trace of a single message; undefined if not set. */
  readonly caller?: Caller | undefined;
  /** Receipts that the SMPP client requested, and the message id that it received. Null or undefined if it sent over HTTP. */
  readonly smpp?:
    | (Omit<ReceiptRequest, 'accountId' | 'messageId' | 'shownId'> & { showId(messageId: string): string })
    | null;
};

type WithDefault =
  | 'clientId'
  | 'udh'
  | 'binary'
  | 'simulation'
  | 'wantReceipt'
  | 'validUntil'
  | 'scheduledAt'
  | 'clientData'
  | 'priority';

/**
 * Makes a draft. Omitted fields get the value that most messages have: a single message that is sent immediately, with
 * a receipt.
 */
export const newDraft = (fields: Omit<Draft, WithDefault> & Partial<Pick<Draft, WithDefault>>): Draft => ({
  clientId: null,
  udh: null,
  binary: null,
  simulation: false,
  wantReceipt: true,
  validUntil: null,
  scheduledAt: null,
  clientData: null,
  priority: 0,
  ...fields,
});

/** Reasons for the rejection of a message. Clients get these texts unchanged. */
export const REFUSALS = {
  not_a_number: `the number ${NUMBER_FAULTS.not_a_number}`,
  no_country_code: `the number ${NUMBER_FAULTS.no_country_code}`,
  unknown_country_code: `the number ${NUMBER_FAULTS.unknown_country_code}`,
  impossible_length: `the number ${NUMBER_FAULTS.impossible_length}`,
  bad_sender: 'the sender must have 1 to 11 letters and digits, or up to 16 digits',
  foreign_sender: 'the account has no such sender on this channel',
  sender_not_allowed: 'the sender is not allowed in the country of the number',
  no_pool: 'there is no such pool of numbers, or it is empty',
  empty_body: 'the text is empty',
  bad_body: 'the text contains a NUL character',
  no_content: 'there is nothing to send on this channel',
  body_too_long: 'the text needs too many parts',
  body_not_gsm: 'the text has characters outside GSM 03.38',
  no_public_url: NO_PUBLIC_URL,
  binary_too_long: 'user data header and data together exceed 140 bytes',
  text_too_long_for_header: 'user data header and text do not fit into one message',
  tlv_not_allowed: 'the account may not send this parameter',
  no_dlt_template: 'the text matches no DLT template of the account',
  no_route: 'no route leads to this number',
  no_registered_route:
    'the sender is not registered with a provider that reaches this number, as the rule for senders of its country requires',
  no_price: 'the price list has no price for this number',
  no_credit: 'insufficient credit',
  opted_out: 'the number has opted out of messages on this channel',
  weekly_cap: 'the person has had as many marketing messages within seven days as the account allows',
  marketing_stopped: 'the person has stopped marketing messages on this channel',
  stop_suspected: 'the person has probably asked for no more messages: decide on it in the inbox',
  not_opted_in: 'the person has not agreed to marketing messages on this channel, which the account requires',
} as const;
export type Refusal = keyof typeof REFUSALS;

/** The decision about one draft. */
export type Verdict =
  | {
      readonly kind: 'accepted';
      readonly messageId: string;
      readonly parts: number;
      readonly unicode: boolean;
      readonly sender?: string;
      /** Set if it waits because of the calendar. */
      readonly hold?: Hold;
    }
  | {
      readonly kind: 'refused';
      readonly refusal: Refusal;
      readonly shortage?: Shortage;
      /** The reason in more detail than that of all such rejections. */
      readonly hint?: string;
    }
  /** The client id was used for a message with other content within 24 hours. */
  | { readonly kind: 'conflict' };

/** Returns the reason of a rejection, for clients who may see amounts (`textFor` shortens it for others). */
export const reasonOf = ({ refusal, shortage, hint }: Extract<Verdict, { kind: 'refused' }>): string =>
  shortage ? withAmounts(REFUSALS[refusal], shortage) : (hint ?? REFUSALS[refusal]);

/**
 * Returns the SHA-256 of a draft's content: two drafts under one client id are the same message when their hashes are
 * equal. A number is the same with and without punctuation.
 */
export function contentHash(draft: Draft): Buffer {
  const { channel, destination, sender, body, content, binary, dataCoding, tlvs, udh, simulation, nextChannels } =
    draft;
  const { purpose, encoding, clientData, callbackUrl } = draft;
  const number = /^[+\d(]/.test(destination) ? destination.replace(/[\s().\-/]/g, '') : destination;
  const hash = createHash('sha256').update(
    JSON.stringify([channel, number, sender, withValues(body, draft), simulation]),
  );
  if (content) hash.update(JSON.stringify(content));
  if (nextChannels) hash.update(JSON.stringify(nextChannels));
  if (udh) hash.update(udh);
  if (binary) hash.update(binary.udh).update('\0').update(binary.data);
  if (tlvs) hash.update('\0').update(tlvs);
  if (purpose) hash.update(`\0${purpose}`);
  if (encoding) hash.update(`\0${encoding}`);
  if (clientData || callbackUrl !== undefined)
    hash.update(`\0${JSON.stringify([clientData?.metadata, clientData?.tags, callbackUrl])}`);
  if (dataCoding !== undefined && isInGroup(dataCoding)) hash.update(`\0${dataCoding}`);
  return hash.digest();
}

/** The client's own id of a message, under either of its names. */
export type ClientIds = { readonly customerMessageId?: string | undefined; readonly messageId?: string | undefined };

/** Returns the client's own id of a message; null without one. */
export const clientIdOf = ({ customerMessageId, messageId }: ClientIds): string | null =>
  customerMessageId ?? messageId ?? null;

/** Returns the client's own id of one destination of a bulk message; null without one. */
export const bulkClientId = (
  { ids, customerMessageId }: { readonly ids?: readonly string[]; readonly customerMessageId?: string },
  at: number,
): string | null => ids?.[at] ?? customerMessageId ?? null;

/** Returns the error for two different values under two names of one field. */
function aliasFaults(name: string, value: unknown, alias: string, other: unknown): FieldError[] {
  if (value === undefined || other === undefined || value === other) return [];
  return [{ field: alias, message: `is another name of ${name}, and has another value` }];
}

/** Returns the error for two different ids in one body. */
export const clientIdFaults = ({ customerMessageId, messageId }: ClientIds): FieldError[] =>
  aliasFaults('customerMessageId', customerMessageId, 'messageId', messageId);
