import { invalidFields } from '../errors.ts';
import { parseScheduledDate } from '../lib/scheduled-date.ts';
import type { Draft } from './draft.ts';
import type { BulkIn, MessageServerIn, SendIn } from './schema.ts';

const BASE = {
  channel: 'SMS',
  source: 'API',
  clientId: null,
  sender: '',
  binary: null,
  simulation: false,
  wantReceipt: true,
  validUntil: null,
  scheduledAt: null,
  priority: 0,
} as const;

/** The specification's body as a draft. */
export const readSend = (body: SendIn): Draft => ({
  ...BASE,
  clientId: body.customerMessageId ?? null,
  destination: body.phoneNumber,
  sender: body.senderName ?? '',
  body: body.message,
  simulation: body.simulation ?? false,
});

/** The message server's own body as a draft. Errors: 400 naming the field. */
export function readMessageServer(body: MessageServerIn, now: Date): Draft {
  const text = fillIn(body.body, body.placeholders ?? {});
  const binary = body.udhData ? { udh: Buffer.from(body.udhData, 'hex'), data: Buffer.from(text, 'latin1') } : null;
  return {
    ...BASE,
    clientId: body.messageId ?? null,
    destination: body.destination,
    sender: body.sender,
    body: binary ? '' : text,
    binary,
    simulation: body.simulation ?? false,
    wantReceipt: body.enableNotification ?? true,
    validUntil: body.validityPeriod === undefined ? null : new Date(now.getTime() + body.validityPeriod * 60_000),
    scheduledAt: readSchedule('scheduledDate', body.scheduledDate, now),
  };
}

/** Values may hold `{{…}}` themselves: they are sent as they are, and a name without a value stays as it was. */
const fillIn = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{\{\s*([^{}|]+?)\s*\}\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? whole) : whole,
  );

function readSchedule(field: string, text: string | undefined, now: Date): Date | null {
  if (text === undefined) return null;
  const date = parseScheduledDate(text);
  if (date === null) throw invalidFields([{ field, message: 'must be a date such as 2027-01-31 09:00:00.000+0100' }]);
  if (date <= now) throw invalidFields([{ field, message: 'must lie in the future' }]);
  return date;
}

/** The bulk body as drafts, one for each destination in request order. Errors: 400 naming the field. */
export function readBulk(bulk: BulkIn, now: Date): Draft[] {
  return bulk.messages.flatMap((message, at) => {
    const field = `messages[${at}]`;
    if (message.ids && message.ids.length !== message.destinations.length)
      throw invalidFields([{ field: `${field}.ids`, message: 'must have one id for each destination' }]);
    if (message.body === undefined && message.hexBody === undefined)
      throw invalidFields([{ field: `${field}.body`, message: 'is required (or hexBody)' }]);
    const scheduledAt = readSchedule(`${field}.scheduling`, message.scheduling, now);
    const shared = {
      ...BASE,
      ...optionsOf(bulk),
      ...contentOf(message),
      sender: message.sender,
      scheduledAt,
      priority: 1,
    } as const;
    return message.destinations.map((destination, i) => ({
      ...shared,
      destination,
      clientId: message.ids?.[i] ?? null,
    }));
  });
}

const optionsOf = (bulk: BulkIn) => ({
  simulation: bulk.simulation ?? false,
  wantReceipt: bulk.enableDelivery ?? true,
  maxParts: bulk.enableConcatenated === false ? 1 : undefined,
  gsmOnly: bulk.enableUnicode === false,
});

function contentOf({ body, hexBody, udhData }: BulkIn['messages'][number]): Pick<Draft, 'body' | 'binary'> {
  if (hexBody === undefined) return { body: body ?? '', binary: null };
  return { body: '', binary: { udh: Buffer.from(udhData ?? '', 'hex'), data: Buffer.from(hexBody, 'hex') } };
}
