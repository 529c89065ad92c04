import { type FieldError, invalidFields } from '../../platform/errors.ts';
import { parseScheduledDate } from '../../platform/lib/scheduled-date.ts';
import { type Draft, newDraft } from './draft.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import type { BulkIn, MessageServerIn, SendIn } from './schema.ts';

/** Reads the specification's body as a draft. */
export const readSend = (body: SendIn): Draft =>
  newDraft({
    channel: 'SMS',
    source: 'API',
    clientId: body.customerMessageId ?? null,
    destination: body.phoneNumber,
    sender: body.senderName ?? '',
    body: body.message,
    simulation: body.simulation ?? false,
  });

/**
 * Reads the message server's own body as a draft. Errors: 400 naming every invalid field that the schema alone cannot detect.
 */
export function readMessageServer(body: MessageServerIn, now: Date): Draft {
  const text = fillIn(body.body, body.placeholders ?? {});
  refuseFaults(messageServerFaults(body, text, now));
  const scheduledAt = readSchedule(body.scheduledDate);
  const binary = body.udhData ? { udh: Buffer.from(body.udhData, 'hex'), data: Buffer.from(text, 'latin1') } : null;
  return newDraft({
    channel: 'SMS',
    source: 'API',
    clientId: body.messageId ?? null,
    destination: body.destination,
    sender: body.sender,
    body: binary ? '' : text,
    binary,
    simulation: body.simulation ?? false,
    wantReceipt: body.enableNotification ?? true,
    validUntil: readValidity(body.validityPeriod, scheduledAt ?? now),
    scheduledAt,
  });
}

/** The instant after which a message is no longer delivered; null without a validity period. */
export const readValidity = (minutes: number | undefined, from: Date): Date | null =>
  minutes === undefined ? null : new Date(from.getTime() + minutes * MINUTE_MS);

const BEYOND_LATIN1 = /[^\0-\xff]/;

function messageServerFaults({ udhData, scheduledDate }: MessageServerIn, text: string, now: Date): FieldError[] {
  const faults: FieldError[] = [];
  if (udhData && BEYOND_LATIN1.test(text))
    faults.push({ field: 'body', message: 'must contain only ISO 8859-1 characters when udhData is given' });
  const schedule = scheduleFault(scheduledDate, now);
  if (schedule !== null) faults.push({ field: 'scheduledDate', message: schedule });
  return faults;
}

/**
 * Fills in placeholders. Values may contain `{{…}}` themselves and are sent as they are; a name without a value stays.
 */
const fillIn = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{\{\s*([^{}|]+?)\s*\}\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? whole) : whole,
  );

/** What is wrong with the time at which a message is to be sent; null when nothing is. */
export function scheduleFault(text: string | undefined, now: Date): string | null {
  if (text === undefined) return null;
  const date = parseScheduledDate(text);
  if (date === null) return 'must be a date such as 2027-01-31 09:00:00.000+0100';
  return date <= now ? 'must lie in the future' : null;
}

/** Reads the time at which a message is to be sent; null when there is none. */
export const readSchedule = (text: string | undefined): Date | null =>
  text === undefined ? null : parseScheduledDate(text);

/** The most faults that one answer names: a request may have a million. */
const MAX_LISTED_FAULTS = 100;

/** Throws 400 with the faults, if there are any. */
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
      priority: 1,
      ...contentOf(message),
      ...optionsOf(bulk),
    });
    return message.destinations.map((destination, i) => ({
      ...shared,
      destination,
      clientId: message.ids?.[i] ?? null,
    }));
  });
}

type BulkMessage = BulkIn['messages'][number];

function bulkFaults(
  { destinations, ids, body, hexBody, scheduling }: BulkMessage,
  path: string,
  now: Date,
): FieldError[] {
  const faults: FieldError[] = [];
  if (ids && ids.length !== destinations.length)
    faults.push({ field: `${path}.ids`, message: 'must have one id for each destination' });
  if (body === undefined && hexBody === undefined)
    faults.push({ field: `${path}.body`, message: 'is required (or hexBody)' });
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

function contentOf({ body, hexBody, udhData }: BulkMessage): Pick<Draft, 'body' | 'binary'> {
  if (hexBody === undefined) return { body: body ?? '', binary: null };
  return { body: '', binary: { udh: Buffer.from(udhData ?? '', 'hex'), data: Buffer.from(hexBody, 'hex') } };
}
