import { udhFault } from '../../carriers/smpp/text.ts';
import { type FieldError, invalidFields } from '../../platform/errors.ts';
import { parseScheduledDate, scheduleFault } from '../../platform/lib/scheduled-date.ts';
import { aliasFaults, bulkClientId, clientIdFaults, clientIdOf } from './client-id.ts';
import { type Draft, newDraft } from './draft.ts';
import { fillPlaceholders, MAX_PLACEHOLDER_NAME_LENGTH } from '../../platform/lib/placeholders.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import type { BulkIn, MessageServerIn, SendIn } from './schema.ts';

/**
 * Reads the specification's body as a draft. Errors: 400 naming every invalid field that the schema alone cannot
 * detect, such as two names of one field with different values.
 */
export function readSend(body: SendIn, now: Date, maxScheduleDays?: number): Draft {
  refuseFaults([
    ...aliasFaults('senderName', body.senderName, 'sender', body.sender),
    ...optionFaults(body, now, maxScheduleDays),
  ]);
  return newDraft({
    channel: 'SMS',
    source: 'API',
    clientId: body.customerMessageId ?? null,
    destination: body.phoneNumber,
    sender: body.senderName ?? body.sender ?? '',
    body: textOf(body.message, body),
    ...optionsOfSend(body, now),
  });
}

/**
 * Reads the message server's own body as a draft. Errors: 400 naming every invalid field that the schema alone cannot
 * detect.
 */
export function readMessageServer(body: MessageServerIn, now: Date, maxScheduleDays?: number): Draft {
  refuseFaults([...clientIdFaults(body), ...optionFaults(body, now, maxScheduleDays)]);
  return newDraft({
    channel: 'SMS',
    source: 'API',
    clientId: clientIdOf(body),
    destination: body.destination,
    sender: body.sender,
    body: textOf(body.body, body),
    ...optionsOfSend(body, now),
  });
}

/** Fields that both bodies have in common. */
type SendOptions = Pick<
  MessageServerIn,
  'placeholders' | 'udhData' | 'enableNotification' | 'scheduledDate' | 'validityPeriod' | 'simulation'
>;

/** Returns the text with its placeholders filled, if the request has values for any. */
function textOf(text: string, { placeholders }: SendOptions): string {
  const values = new Map(Object.entries(placeholders ?? {}));
  return fillPlaceholders(text, (name) => values.get(name));
}

function optionsOfSend(options: SendOptions, now: Date) {
  const scheduledAt = readSchedule(options.scheduledDate);
  return {
    udh: headerOf(options.udhData),
    simulation: options.simulation ?? false,
    wantReceipt: options.enableNotification ?? true,
    validUntil: readValidity(options.validityPeriod, scheduledAt ?? now),
    scheduledAt,
  };
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

function optionFaults(options: SendOptions, now: Date, maxScheduleDays?: number): FieldError[] {
  const { udhData, scheduledDate, placeholders = {} } = options;
  const faults: FieldError[] = [];
  if (Object.keys(placeholders).some((name) => name.length > MAX_PLACEHOLDER_NAME_LENGTH))
    faults.push({
      field: 'placeholders',
      message: `must have names of at most ${MAX_PLACEHOLDER_NAME_LENGTH} characters`,
    });
  faults.push(...headerFaults(udhData, 'udhData'));
  const schedule = scheduleFault(scheduledDate, now, maxScheduleDays);
  if (schedule !== null) faults.push({ field: 'scheduledDate', message: schedule });
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
export function readBulk(bulk: BulkIn, now: Date, maxScheduleDays?: number): Draft[] {
  refuseFaults(bulk.messages.flatMap((message, at) => bulkFaults(message, `messages[${at}]`, now, maxScheduleDays)));
  return bulk.messages.flatMap((message) => {
    const shared = newDraft({
      channel: 'SMS',
      source: 'API',
      destination: '',
      sender: message.sender,
      scheduledAt: readSchedule(message.scheduling),
      validUntil: readValidity(message.validityPeriod, readSchedule(message.scheduling) ?? now),
      priority: 1,
      ...contentOf(message),
      ...optionsOf(bulk),
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
  maxScheduleDays?: number,
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
  const schedule = scheduleFault(scheduling, now, maxScheduleDays);
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
