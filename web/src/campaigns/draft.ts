import { toIso } from '../api/data.ts';
import type { FieldFault } from '../api/send.ts';
import { ownZone } from '../ui/time-zone.tsx';
import type { Purpose } from '../ui/values.tsx';
import { type Campaign, type CampaignIn, type Channel, chainOf, type SendingMode } from './campaign.ts';

/** Final statuses after which the next channel is tried, unless fewer are chosen. */
export const FAILURES = [
  'REJECTED',
  'EXPIRED',
  'UNDELIVERABLE',
  'ERROR',
  'DISABLED',
  'UNSUPPORTED',
  'CONVERSATION_CLOSED',
] as const;
type Failure = (typeof FAILURES)[number];

/** Purposes of RCS messages, as Google classifies them. */
export const TRAFFIC_TYPES = [
  'AUTHENTICATION',
  'TRANSACTION',
  'PROMOTION',
  'SERVICEREQUEST',
  'ACKNOWLEDGEMENT',
] as const;
type TrafficType = (typeof TRAFFIC_TYPES)[number];

export const ENCODINGS = ['auto', 'smart', 'strict'] as const;

/** The values of the campaign form. */
export type Draft = {
  name: string;
  description: string;
  sendingMode: SendingMode;
  smsSender: string;
  smsBody: string;
  rcsAgentId: string;
  rcsTemplateId: string;
  /** '' for that of the template. */
  rcsTrafficType: TrafficType | '';
  whatsappPhoneNumberId: string;
  whatsappTemplateId: string;
  /** A campaign goes either to lists or to numbers. */
  recipients: 'lists' | 'numbers';
  contactListIds: number[];
  /** Numbers, one per line. */
  destinations: string;
  /** Wait before the next channel is tried, in seconds. */
  afterWhatsapp: number;
  afterRcs: number;
  /** The longest wait for a carrier, in seconds; null: the server's default. */
  maxWait: number | null;
  onStatus: readonly Failure[];
  /** `local`: at this time where each recipient is. */
  when: 'now' | 'later' | 'local';
  wallTime: string;
  passed: 'tomorrow' | 'now' | 'skip';
  zone: string;
  quiet: 'account' | 'own' | 'off';
  quietFrom: string;
  quietTo: string;
  purpose: Purpose;
  encoding: (typeof ENCODINGS)[number];
  /** '' for that of the account. */
  weeklyCap: number | '';
  /** Null: if its purpose is marketing. */
  respectCalendar: boolean | null;
  /** Maximum recipients per second; '' for no limit. */
  rate: number | '';
};

/** The server's defaults, in seconds. */
const DEFAULT_AFTER = { WHATSAPP: 3600, RCS: 300 } as const;

export const newDraft = (channels: readonly string[]): Draft => ({
  name: '',
  description: '',
  sendingMode: firstMode(channels),
  smsSender: '',
  smsBody: '',
  rcsAgentId: '',
  rcsTemplateId: '',
  rcsTrafficType: '',
  whatsappPhoneNumberId: '',
  whatsappTemplateId: '',
  recipients: 'lists',
  contactListIds: [],
  destinations: '',
  afterWhatsapp: DEFAULT_AFTER.WHATSAPP,
  afterRcs: DEFAULT_AFTER.RCS,
  maxWait: null,
  onStatus: FAILURES,
  when: 'now',
  wallTime: '',
  passed: 'tomorrow',
  zone: ownZone(),
  quiet: 'account',
  quietFrom: '21:00',
  quietTo: '08:00',
  purpose: '',
  encoding: 'auto',
  weeklyCap: '',
  respectCalendar: null,
  rate: '',
});

/** The first single-channel mode that the account may use. */
function firstMode(channels: readonly string[]): SendingMode {
  const modes = ['SMS', 'WHATSAPP', 'RCS'] as const;
  return modes.find((mode) => channels.includes(mode)) ?? 'SMS';
}

export function toDraft(campaign: Campaign): Draft {
  const { name, description, sendingMode, contactListIds, destinations = [], fallback } = campaign;
  const onStatus = fallback.onStatus?.filter(isFailure) ?? FAILURES;
  return {
    name,
    description,
    sendingMode,
    contactListIds,
    onStatus,
    smsSender: campaign.smsSender ?? '',
    smsBody: campaign.smsBody ?? '',
    rcsAgentId: campaign.rcsAgentId ?? '',
    rcsTemplateId: campaign.rcsTemplateId ?? '',
    rcsTrafficType: campaign.rcsTrafficType ?? '',
    whatsappPhoneNumberId: campaign.whatsappPhoneNumberId ?? '',
    whatsappTemplateId: campaign.whatsappTemplateId ?? '',
    recipients: destinations.length > 0 ? 'numbers' : 'lists',
    destinations: destinations.join('\n'),
    afterWhatsapp: fallback.after?.WHATSAPP ?? DEFAULT_AFTER.WHATSAPP,
    afterRcs: fallback.after?.RCS ?? DEFAULT_AFTER.RCS,
    maxWait: fallback.maxWait ?? null,
    ...limitsOf(campaign),
    ...timeOf(campaign),
    ...quietOf(campaign),
  };
}

type Limited = Pick<Draft, 'purpose' | 'encoding' | 'weeklyCap' | 'respectCalendar' | 'rate'>;

const limitsOf = ({ purpose, encoding, weeklyCap, respectCalendar, rate }: Campaign): Limited => ({
  purpose: purpose ?? '',
  encoding: encoding ?? 'auto',
  weeklyCap: weeklyCap ?? '',
  respectCalendar,
  rate: rate ?? '',
});

const isFailure = (word: string): word is Failure => FAILURES.some((failure) => failure === word);

function timeOf({ scheduledDate, localTime }: Campaign): Pick<Draft, 'when' | 'wallTime' | 'zone' | 'passed'> {
  const zone = ownZone();
  const passed = localTime?.passed ?? 'tomorrow';
  if (localTime !== null) return { when: 'local', wallTime: localTime.at, zone, passed };
  if (scheduledDate === null) return { when: 'now', wallTime: '', zone, passed };
  return { when: 'later', wallTime: wallTimeAt(new Date(toIso(scheduledDate)), zone), zone, passed };
}

function quietOf({ quietHours }: Campaign): Pick<Draft, 'quiet' | 'quietFrom' | 'quietTo'> {
  if (quietHours !== null && 'from' in quietHours)
    return { quiet: 'own', quietFrom: quietHours.from, quietTo: quietHours.to };
  return { quiet: quietHours === null ? 'account' : 'off', quietFrom: '21:00', quietTo: '08:00' };
}

/** The phone numbers in a text, separated by line breaks, commas, semicolons or tabs. */
export const numbersIn = (text: string): string[] =>
  text
    .split(/[\n\r,;\t]+/)
    .map((number) => number.trim())
    .filter((number) => number !== '');

/** The content and the recipients of a draft, with the fields of its channels only. The preview takes the same. */
export function contentOf(draft: Draft) {
  const { sendingMode, recipients, contactListIds, destinations } = draft;
  const chain = chainOf(sendingMode);
  const on = (channel: Channel, text: string): string | null => (chain.includes(channel) && text !== '' ? text : null);
  return {
    sendingMode,
    smsSender: on('SMS', draft.smsSender.trim()),
    smsBody: on('SMS', draft.smsBody),
    rcsAgentId: on('RCS', draft.rcsAgentId),
    rcsTemplateId: on('RCS', draft.rcsTemplateId),
    rcsTrafficType: trafficTypeOf(draft),
    whatsappPhoneNumberId: on('WHATSAPP', draft.whatsappPhoneNumberId),
    whatsappTemplateId: on('WHATSAPP', draft.whatsappTemplateId),
    encoding: chain.includes('SMS') && draft.encoding !== 'auto' ? draft.encoding : null,
    purpose: draft.purpose || null,
    contactListIds: recipients === 'lists' ? contactListIds : [],
    destinations: recipients === 'numbers' ? numbersIn(destinations) : [],
  };
}

export function scheduledAt({ when, wallTime, zone }: Pick<Draft, 'when' | 'wallTime' | 'zone'>): Date | null {
  return when === 'later' ? instantAt(wallTime, zone) : null;
}

/** Returns the local time of a campaign as if it were UTC; null if it has none. */
export const localTimeOf = ({ when, wallTime }: Pick<Draft, 'when' | 'wallTime'>): Date | null =>
  when === 'local' ? instantAt(wallTime, 'UTC') : null;

/** The request body, for creating and for changing a campaign. */
export function toBody(draft: Draft, readyToSend: boolean): CampaignIn {
  const { name, description, rate } = draft;
  return {
    name: name.trim(),
    description,
    readyToSend,
    rate: rate === '' ? null : rate,
    ...contentOf(draft),
    scheduledDate: scheduledAt(draft)?.toISOString() ?? null,
    fallback: fallbackOf(draft),
    quietHours: quietHoursOf(draft),
    respectCalendar: draft.respectCalendar,
    localTime: draft.when === 'local' ? { at: draft.wallTime, passed: draft.passed } : null,
    weeklyCap: weeklyCapOf(draft),
  };
}

const weeklyCapOf = ({ weeklyCap }: Draft): number | null => (weeklyCap === '' ? null : weeklyCap);

/** The request body for a review: with what decides prices and who is left out, and without a time that has passed. */
export function toReview(draft: Draft, now: Date) {
  const at = scheduledAt(draft);
  const scheduledDate = at !== null && at > now ? at.toISOString() : null;
  return { ...contentOf(draft), weeklyCap: weeklyCapOf(draft), scheduledDate };
}

const trafficTypeOf = ({ sendingMode, rcsTrafficType }: Draft): TrafficType | null =>
  chainOf(sendingMode).includes('RCS') && rcsTrafficType !== '' ? rcsTrafficType : null;

function fallbackOf({ sendingMode, afterWhatsapp, afterRcs, maxWait, onStatus }: Draft): CampaignIn['fallback'] {
  const hops = chainOf(sendingMode).slice(0, -1);
  if (hops.length === 0) return null;
  return {
    after: {
      ...(hops.includes('WHATSAPP') && { WHATSAPP: afterWhatsapp }),
      ...(hops.includes('RCS') && { RCS: afterRcs }),
    },
    ...(maxWait !== null && { maxWait }),
    ...(onStatus.length < FAILURES.length && { onStatus: [...onStatus] }),
  };
}

function quietHoursOf({ quiet, quietFrom: from, quietTo: to }: Draft): CampaignIn['quietHours'] {
  if (quiet === 'account') return null;
  return quiet === 'off' ? { off: true } : { from, to };
}

export const STEPS = ['channels', 'recipients', 'text', 'time', 'review'] as const;
export type StepId = (typeof STEPS)[number];

/** The form field, and its step, for each field that the server reports. */
const PLACES: Readonly<Record<string, readonly [field: keyof Draft, step: StepId]>> = {
  name: ['name', 'channels'],
  description: ['description', 'channels'],
  sendingMode: ['sendingMode', 'channels'],
  smsSender: ['smsSender', 'channels'],
  rcsAgentId: ['rcsAgentId', 'channels'],
  rcsTemplateId: ['rcsTemplateId', 'channels'],
  rcsTrafficType: ['rcsTrafficType', 'channels'],
  whatsappPhoneNumberId: ['whatsappPhoneNumberId', 'channels'],
  whatsappTemplateId: ['whatsappTemplateId', 'channels'],
  fallback: ['onStatus', 'channels'],
  afterWhatsapp: ['afterWhatsapp', 'channels'],
  afterRcs: ['afterRcs', 'channels'],
  maxWait: ['maxWait', 'channels'],
  onStatus: ['onStatus', 'channels'],
  contactListIds: ['contactListIds', 'recipients'],
  destinations: ['destinations', 'recipients'],
  smsBody: ['smsBody', 'text'],
  scheduledDate: ['wallTime', 'time'],
  wallTime: ['wallTime', 'time'],
  quietHours: ['quietTo', 'time'],
  quietFrom: ['quietFrom', 'time'],
  quietTo: ['quietTo', 'time'],
  purpose: ['purpose', 'time'],
  respectCalendar: ['respectCalendar', 'time'],
  weeklyCap: ['weeklyCap', 'time'],
  localTime: ['wallTime', 'time'],
  encoding: ['encoding', 'text'],
  rate: ['rate', 'time'],
};

/** The form field and the step where an error of this field is corrected; undefined if no step has it. */
export const placeOf = (field: string) => PLACES[field.split(/[.[]/, 1)[0] ?? ''];

/** Splits errors into those that form fields can show, by field, and the rest. */
export function groupFaults(faults: readonly FieldFault[]): { byField: Record<string, string>; rest: FieldFault[] } {
  const byField: Record<string, string> = {};
  const rest: FieldFault[] = [];
  for (const fault of faults) {
    const place = placeOf(fault.field);
    if (place === undefined) rest.push(fault);
    else byField[place[0]] = byField[place[0]] ? `${byField[place[0]]}; ${fault.message}` : fault.message;
  }
  return { byField, rest };
}

type FaultText = (key: 'required' | 'pastTime') => string;

/**
 * Returns the number of fields that each step still lacks. A campaign needs a recipient, although it can be saved
 * without.
 */
export function lackingOf(draft: Draft, now: Date): Readonly<Record<StepId, number>> {
  const lacking = { channels: 0, recipients: 0, text: 0, time: 0, review: 0 };
  for (const field of Object.keys(missingOf(draft, now, (key) => key))) {
    const step = placeOf(field)?.[1];
    if (step !== undefined) lacking[step] += 1;
  }
  const { recipients, contactListIds, destinations } = draft;
  const isNobody = recipients === 'lists' ? contactListIds.length === 0 : numbersIn(destinations).length === 0;
  if (isNobody) lacking.recipients += 1;
  return lacking;
}

/**
 * The fields that must be filled before saving, each with its error. The server requires channel fields of drafts too
 * (its rule 1).
 */
export function missingOf(draft: Draft, now: Date, words: FaultText): Record<string, string> {
  const required: Readonly<Record<Channel, readonly (keyof Draft)[]>> = {
    SMS: ['smsSender', 'smsBody'],
    RCS: ['rcsAgentId', 'rcsTemplateId'],
    WHATSAPP: ['whatsappPhoneNumberId', 'whatsappTemplateId'],
  };
  const wanted = ['name' as const, ...chainOf(draft.sendingMode).flatMap((channel) => required[channel])];
  const faults = wanted
    .filter((field) => String(draft[field]).trim() === '')
    .map((field) => [field, words('required')]);
  const at = scheduledAt(draft);
  if ((draft.when === 'later' && at === null) || (draft.when === 'local' && draft.wallTime === ''))
    faults.push(['wallTime', words('required')]);
  if (at !== null && at <= now) faults.push(['wallTime', words('pastTime')]);
  return Object.fromEntries(faults);
}

const DIGITS = /^GMT(?:([+-])(\d{2}):(\d{2})(?::\d{2})?)?$/;

/** The offset of a time zone from UTC at an instant, in minutes: 60 in Rome in winter. */
function offsetMinutes(instant: Date, zone: string): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(instant);
  const [, sign, hours = '0', minutes = '0'] =
    DIGITS.exec(parts.find(({ type }) => type === 'timeZoneName')?.value ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

const MINUTE_MS = 60_000;

/**
 * The instant of a local time (`2027-01-31T09:00`) in a zone. A time skipped in spring is moved an hour later; of a
 * time that occurs twice in autumn, the first is used. Null for invalid times.
 */
export function instantAt(wallTime: string, zone: string): Date | null {
  const asUtc = Date.parse(`${wallTime}Z`);
  if (Number.isNaN(asUtc)) return null;
  const day = 24 * 60 * MINUTE_MS;
  const before = offsetMinutes(new Date(asUtc - day), zone);
  const first = asUtc - before * MINUTE_MS;
  if (offsetMinutes(new Date(first), zone) === before) return new Date(first);
  const after = offsetMinutes(new Date(asUtc + day), zone);
  const second = asUtc - after * MINUTE_MS;
  return new Date(offsetMinutes(new Date(second), zone) === after ? second : first);
}

/** The local time of a zone at an instant, in the format of `<input type="datetime-local">`. */
export const wallTimeAt = (instant: Date, zone: string): string =>
  new Date(instant.getTime() + offsetMinutes(instant, zone) * MINUTE_MS).toISOString().slice(0, 16);

/** The place in the name of a zone: `Europe/Rome` is Rome, `America/Argentina/Buenos_Aires` is Buenos Aires. */
export const cityOf = (zone: string): string => (zone.split('/').at(-1) ?? zone).replaceAll('_', ' ');
