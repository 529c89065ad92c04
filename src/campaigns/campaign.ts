import type { Static } from 'typebox';
import { refuseOutsidePlan } from '../accounts/accounts.ts';
import { type GivenTlv, readGivenTlvs } from '../channels/message-tlvs.ts';
import { PLACEHOLDERS } from '../contacts/contact-fields.ts';
import { type FieldRow, listFields } from '../contacts/fields.ts';
import type { Actor } from '../core/actor.ts';
import { type Channel, isRich, type RichChannel } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { AppError, type FieldError } from '../core/errors.ts';
import { type AmountReader, amountFor, fromMicros } from '../core/money.ts';
import { knownFieldsOf } from '../core/schema.ts';
import { formatScheduledDate, parseScheduledDate } from '../core/time.ts';
import { GIVE_UP_AFTER_MS } from '../messages/load.ts';
import { isSender, MAX_PARTS } from '../messages/prepare.ts';
import { REFUSALS } from '../messages/read-send.ts';
import { Fallback } from '../messages/send-schema.ts';
import { strictFault } from '../messages/smart-encoding.ts';
import { findTlvTags } from '../routing/account-tlvs.ts';
import { findUsableSender } from '../routing/senders.ts';
import { countParts } from '../smpp/text.ts';
import { checkTemplate } from '../templates/change.ts';
import { listTemplateVariables } from '../templates/store.ts';
import { chainOf, FIELDS_OF, isCombined } from './audience.ts';
import { earliestOf, heldAt, localMs } from './hours.ts';
import { findPolicy, hoursFaults } from './policy.ts';
import { type CampaignIn, type CampaignOut, type CampaignPatch, Hours, LocalTimeIn, type PriceOut } from './schema.ts';
import { CAMPAIGN, type CampaignEntry, type CampaignRow, listListVersions, type Settings } from './store.ts';
import { leastText, parseText } from './texts.ts';

const toIso = (date: Date | null): string | null => date?.toISOString() ?? null;

/** Current sending rate of a campaign and its remaining time; null while it is not being sent. */
export type Pace = { readonly ratePerSecond: number | null; readonly estimatedSecondsLeft: number | null };

export const NO_PACE: Pace = { ratePerSecond: null, estimatedSecondsLeft: null };

/** Converts a campaign to its form in a list, without its destinations, as this caller may see it. */
export function toEntryOut(row: CampaignEntry, reader: AmountReader, pace: Pace = NO_PACE): Static<typeof CampaignOut> {
  const { scheduledAt, audience, audienceAt, audienceFresh } = row;
  return {
    ...toSettingsOut(row),
    id: row.id,
    status: row.status,
    scheduledDate: scheduledAt && formatScheduledDate(scheduledAt),
    ...toTotalsOut(row),
    ...pace,
    ...toOpenOut(row),
    skipped: audience && toSkipped(audience.skipped),
    overWeeklyCap: audience?.overWeeklyCap ?? null,
    held: toHeldOut(row),
    estimatedCost: amountFor(reader, row.estimatedMicros),
    actualCost: amountFor(reader, row.costMicros),
    currency: row.currency,
    goalCalculatedAt: audienceFresh || row.confirmedAt ? toIso(audienceAt) : null,
    failureReason: row.failureReason,
    paused: row.pausedAt !== null,
    cancelled: row.cancelledAt !== null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    confirmedAt: toIso(row.confirmedAt),
    startedAt: toIso(row.startedAt),
    completedAt: toIso(row.completedAt),
  };
}

/** Converts a campaign to its form in the API, as this caller may see it. */
export const toCampaignOut = (row: CampaignRow, reader: AmountReader, pace?: Pace): Static<typeof CampaignOut> => ({
  ...toEntryOut(row, reader, pace),
  destinations: row.destinations,
});

function toSettingsOut(row: CampaignEntry) {
  const { name, description, sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, whatsappPhoneNumberId } = row;
  const { rcsTrafficType, whatsappTemplateId, contactListIds, destinationType, readyToSend, fallback } = row;
  return {
    name,
    description,
    sendingMode,
    smsSender,
    smsBody,
    rcsAgentId,
    rcsTemplateId,
    rcsTrafficType,
    whatsappPhoneNumberId,
    whatsappTemplateId,
    contactListIds,
    destinationType,
    readyToSend,
    fallback,
    quietHours: row.quietHours,
    purpose: row.purpose,
    respectCalendar: row.respectCalendar,
    localTime: row.localTime,
    weeklyCap: row.weeklyCap,
    encoding: row.encoding,
    tlvs: row.tlvs,
    rate: row.rate,
  };
}

/** Returns when the last messages of a campaign by local time are created, while some wait for theirs; else null. */
function lastOfLocal(row: CampaignEntry): Date | null {
  if (row.localTime === null || row.status !== CAMPAIGN.SENDING || row.pausedAt !== null) return null;
  const last = toHeldOut(row).at(-1);
  return last ? new Date(last.until) : null;
}

/** Lists who waits for the hours of the calendar, of those without a message. */
function toHeldOut(row: CampaignEntry) {
  const { audience, run, scheduledAt, now } = row;
  const places = audience?.places ?? [];
  if (run === null || row.status === CAMPAIGN.READY)
    return heldAt(places, row, scheduledAt && scheduledAt > now ? scheduledAt : now);
  if (row.status !== CAMPAIGN.SENDING || run.open === null) return [];
  const open = new Set(run.open.map(({ country, area }) => `${country}/${area}`));
  return heldAt(
    places.filter(({ country, area }) => open.has(`${country}/${area}`)),
    row,
    now,
  );
}

/**
 * Counts the messages without a final state, and finds when the last of them is abandoned: a campaign with one phone
 * that is switched off is being sent until then.
 */
function toOpenOut(row: CampaignEntry) {
  const { run, status, delivered, failed, pausedAt, lastMessagesAt } = row;
  const openMessages = run ? Math.max(0, run.messages - delivered - failed) : 0;
  const isWaiting = status === CAMPAIGN.SENDING && pausedAt === null && run?.produced === true && openMessages > 0;
  const last = isWaiting ? lastMessagesAt : lastOfLocal(row);
  const completesBy = last && new Date(last.getTime() + GIVE_UP_AFTER_MS);
  return { openMessages, completesBy: completesBy ? completesBy.toISOString() : null };
}

/** Counts the skipped recipients for each reason, by the names of the API. */
export const toSkipped = ({
  opted_out,
  no_route,
  no_price,
  ...rest
}: NonNullable<CampaignEntry['audience']>['skipped']) => ({
  ...rest,
  optedOut: opted_out,
  noRoute: no_route,
  noPrice: no_price,
});

/**
 * Counts the recipients by outcome: from the hourly figures in single modes, from the ends of chains in combined ones.
 */
function toTotalsOut(row: CampaignEntry) {
  const { totalDestinations } = row;
  const { totalSuccess, totalFailed } = countFinalStates(row);
  const { totalRecipients, totalSkipped } = countAllRecipients(row);
  const totalCancelled = row.run ? row.run.unmade + row.run.withdrawn : 0;
  const ended = totalSuccess + totalFailed + totalCancelled;
  const totalPending = Math.max(0, totalRecipients - totalSkipped - ended);
  const progress = hasEnded(row) ? 1 : ended === 0 ? 0 : ended / (ended + totalPending);
  const totalDeliveredTwice = row.run?.deliveredTwice ?? 0;
  const reached = { totalSuccess, totalFailed, totalDeliveredTwice };
  return { totalDestinations, ...reached, totalPending, totalSkipped, totalCancelled, progress };
}

function countFinalStates({ run, sendingMode, delivered, failed }: CampaignEntry) {
  const withdrawn = run?.withdrawn ?? 0;
  if (!isCombined(sendingMode)) return { totalSuccess: delivered, totalFailed: failed - withdrawn };
  return { totalSuccess: run?.delivered ?? 0, totalFailed: run ? run.ended - run.delivered - withdrawn : 0 };
}

/** Counts all recipients, and those who are skipped; until they are created, as the audience counted them. */
export function countAllRecipients({ run, audience, totalDestinations }: CampaignEntry) {
  if (run?.expanded) return { totalRecipients: run.recipients, totalSkipped: run.skipped };
  const totalSkipped = audience?.skippedTotal ?? 0;
  return { totalRecipients: totalDestinations + totalSkipped, totalSkipped };
}

const hasEnded = ({ status }: CampaignEntry): boolean => status === CAMPAIGN.COMPLETED || status === CAMPAIGN.FAILED;

/** Converts the price of a campaign. A price that is stale is included, with `calculated` false. */
export function toPriceOut(row: CampaignEntry): Static<typeof PriceOut> {
  const { audience } = row;
  return {
    campaignId: row.id,
    price: fromMicros(row.estimatedMicros),
    currency: row.currency,
    totalDestinations: row.totalDestinations,
    calculated: audience !== null && (row.audienceFresh || row.confirmedAt !== null),
    calculatedAt: toIso(row.audienceAt),
    breakdown: (audience?.breakdown ?? []).map(({ unitMicros, priceMicros, ...line }) => ({
      ...line,
      unitPrice: fromMicros(unitMicros),
      price: fromMicros(priceMicros),
    })),
  };
}

type Keys = 'smsSender' | 'smsBody' | 'rcsAgentId' | 'rcsTemplateId' | 'whatsappPhoneNumberId' | 'whatsappTemplateId';
type Checked = { readonly accountId: number; readonly settings: Settings };

/** Checks the settings of a campaign. Returns every fault, field by field; none when the campaign may be saved. */
export async function checkSettings(db: Db, { accountId, settings }: Checked): Promise<FieldError[]> {
  const chain = chainOf(settings.sendingMode);
  const faults = await Promise.all([
    ...chain.map((channel) =>
      isRich(channel) ? networkFaults(db, accountId, channel, settings) : smsFaults(db, { accountId, settings }),
    ),
    listFaults(db, { accountId, settings }),
  ]);
  return [...missingFields(chain, settings), ...faults.flat()];
}

const missingFields = (chain: readonly Channel[], settings: Settings): FieldError[] =>
  chain.flatMap((channel) =>
    [FIELDS_OF[channel].sender, FIELDS_OF[channel].content].flatMap((field) =>
      (settings[field] ?? '') === '' ? [{ field, message: `is required for ${channel}` }] : [],
    ),
  );

/** Checks that the account may send the parameters of a campaign. */
async function allowedTlvFaults(db: Db, { accountId, settings: { tlvs } }: Checked): Promise<FieldError[]> {
  if (!tlvs?.length) return [];
  const allowed = await findTlvTags(db, { accountId });
  return tlvs.flatMap(({ tag }, i) =>
    allowed.includes(Number(tag)) ? [] : [{ field: `tlvs[${i}].tag`, message: REFUSALS.tlv_not_allowed }],
  );
}

async function smsFaults(db: Db, { accountId, settings }: Checked): Promise<FieldError[]> {
  const { smsSender, smsBody, encoding } = settings;
  const faults: FieldError[] = smsBody ? bodyFaults(smsBody, await listFields(db, { accountId })) : [];
  faults.push(...(await allowedTlvFaults(db, { accountId, settings })));
  const strict = encoding === 'strict' && smsBody ? strictFault(smsBody) : null;
  if (strict !== null) faults.push({ field: 'smsBody', message: strict });
  if (!smsSender) return faults;
  if (!isSender(smsSender))
    return [
      ...faults,
      { field: 'smsSender', message: 'must have 1 to 11 letters and digits, or be a number of up to 16 digits' },
    ];
  const allowed = (await findPolicy(db, { accountId }))?.smsSenders ?? null;
  return allowed === null || allowed.includes(smsSender)
    ? faults
    : [...faults, { field: 'smsSender', message: 'is not one of the senders that the account allows' }];
}

function bodyFaults(body: string, fields: readonly FieldRow[]): FieldError[] {
  const { pieces, unknown } = parseText(body, fields);
  const faults: FieldError[] = [];
  if (unknown.length > 0) {
    const names = unknown.map((name) => `{{${name}}}`).join(', ');
    faults.push({ field: 'smsBody', message: `no contact has the field${unknown.length > 1 ? 's' : ''} ${names}` });
  }
  if (body.lastIndexOf('{{') > body.lastIndexOf('}}'))
    faults.push({ field: 'smsBody', message: 'has {{ without a closing }}' });
  if (countParts(leastText(pieces)).parts > MAX_PARTS)
    faults.push({ field: 'smsBody', message: `needs more than ${MAX_PARTS} parts` });
  return faults;
}

/**
 * Checks that the sender and the template of RCS or WhatsApp exist. `checkTemplates` checks later if it may be sent.
 */
async function networkFaults(
  db: Db,
  accountId: number,
  channel: RichChannel,
  settings: Settings,
): Promise<FieldError[]> {
  const { sender: senderField, content: templateField } = FIELDS_OF[channel];
  const [sender, template] = [settings[senderField], settings[templateField]];
  const faults: FieldError[] = [];
  if (sender && !(await findUsableSender(db, { accountId, channel, identity: sender })))
    faults.push({ field: senderField, message: UNKNOWN[senderField] });
  if (template && !(await listTemplateVariables(db, { accountId, channel, templateId: template })))
    faults.push({ field: templateField, message: UNKNOWN[templateField] });
  return faults;
}

/** Sources of the ids that a campaign can use: its own description has only their names. */
const UNKNOWN = {
  rcsAgentId: 'unknown: GET /api/message-server/rcs/agents lists them, as agentId',
  rcsTemplateId: 'unknown: GET /api/message-server/rcs/templates lists them, as id',
  whatsappPhoneNumberId: 'unknown: GET /api/message-server/whatsapp/phone-numbers lists them, as phoneNumberId',
  whatsappTemplateId: 'unknown: GET /api/message-server/whatsapp/templates lists them, as id',
} as const;

type Templated = { readonly accountId: number; readonly settings: Pick<Settings, 'sendingMode' | Keys> };
export type TemplateFault = FieldError & { readonly channel: Channel; readonly templateId: string };

/**
 * Checks whether the templates of a campaign may be sent now: they are approved, and there is a contact field for each
 * variable. Returns every fault.
 */
export async function checkTemplates(db: Db, { accountId, settings }: Templated): Promise<TemplateFault[]> {
  const uses = chainOf(settings.sendingMode).flatMap((channel) => {
    if (!isRich(channel)) return [];
    const { sender: senderField, content: field } = FIELDS_OF[channel];
    const [sender, templateId] = [settings[senderField], settings[field]];
    return templateId ? [{ channel, field, sender, templateId }] : [];
  });
  if (uses.length === 0) return [];
  const custom = await listFields(db, { accountId });
  const fields = new Set([...PLACEHOLDERS, ...custom.map(({ name }) => name)]);
  const faults = uses.map(async ({ channel, field, sender, templateId }) => {
    const problems = await checkTemplate(db, { accountId, channel, templateId, sender, fields });
    return problems.map((message) => ({ field, message, channel, templateId }));
  });
  return (await Promise.all(faults)).flat();
}

/** Denies an actor who may not send on all channels of a campaign. Errors: 403 naming what is missing. */
export function refuseWithoutScope(actor: Actor, { sendingMode }: Pick<Settings, 'sendingMode'>): void {
  const { operations } = actor;
  refuseOutsidePlan(actor, chainOf(sendingMode));
  const lacking = chainOf(sendingMode).filter((channel) => !operations.has(channel));
  if (lacking.length > 0)
    throw new AppError('forbidden', { message: `These credentials lack the scope "${lacking.join('", "')}"` });
}

async function listFaults(db: Db, { accountId, settings }: Checked): Promise<FieldError[]> {
  const ids = settings.contactListIds;
  if (ids.length === 0) return [];
  const known = new Set((await listListVersions(db, { accountId, ids })).map(({ id }) => id));
  const unknown = ids.filter((id) => !known.has(id));
  return unknown.length === 0 ? [] : [{ field: 'contactListIds', message: `unknown: ${unknown.join(', ')}` }];
}

/** The settings of a campaign before anything is set. */
const DEFAULTS: Omit<Settings, 'name' | 'sendingMode'> = {
  description: '',
  smsSender: null,
  smsBody: null,
  rcsAgentId: null,
  rcsTemplateId: null,
  rcsTrafficType: null,
  whatsappPhoneNumberId: null,
  whatsappTemplateId: null,
  destinationType: null,
  contactListIds: [],
  destinations: [],
  scheduledAt: null,
  readyToSend: false,
  fallback: {},
  quietHours: null,
  purpose: null,
  respectCalendar: null,
  localTime: null,
  weeklyCap: null,
  encoding: null,
  tlvs: null,
  rate: null,
};

/** The settings that result from a request, and its faults: contradictions, or dates that are not in the future. */
export type ReadSettings = { readonly settings: Settings; readonly faults: readonly FieldError[] };

export const readNewSettings = (body: CampaignIn, now: Date): ReadSettings =>
  changeSettings({ ...DEFAULTS, name: '', sendingMode: body.sendingMode }, body, now);

/**
 * Applies a request to the settings of a campaign: omitted fields are unchanged, null removes a value. Recipients of
 * the other kind (lists, numbers) replace the earlier ones.
 */
export function changeSettings(current: Settings, body: CampaignPatch, now: Date): ReadSettings {
  const { name, fallback, quietHours, scheduledDate } = body;
  const faults = [
    ...nameFaults(body),
    ...recipientFaults(body),
    ...dateFaults(scheduledDate, now),
    ...hoursFaults(quietHours && 'from' in quietHours ? quietHours : null),
    ...localTimeFaults(body, current),
    ...tlvFaults(body.tlvs ?? []),
  ];
  const copied = COPIED_SETTINGS.flatMap((key) => (body[key] === undefined ? [] : [[key, body[key]] as const]));
  const settings: Settings = { ...current, ...Object.fromEntries(copied), ...recipientsOf(current, body) };
  if (quietHours) settings.quietHours = knownFieldsOf(Hours, quietHours);
  if (name !== undefined) settings.name = name.trim();
  if (fallback !== undefined) settings.fallback = knownFieldsOf(Fallback, fallback ?? {});
  if (scheduledDate !== undefined)
    settings.scheduledAt = scheduledDate === null ? null : parseScheduledDate(scheduledDate);
  if (settings.localTime !== null) {
    settings.localTime = knownFieldsOf(LocalTimeIn, settings.localTime);
    const first = earliestOf(settings.localTime);
    // It starts where the day begins first, or at its confirmation if that has passed.
    settings.scheduledAt = first > now ? first : null;
  } else if (body.localTime === null && current.localTime !== null && scheduledDate === undefined)
    settings.scheduledAt = null;
  return { settings, faults };
}

function localTimeFaults({ localTime, scheduledDate }: CampaignPatch, current: Settings): FieldError[] {
  if (localTime && Number.isNaN(localMs(localTime))) return [{ field: 'localTime.at', message: 'is not a date' }];
  const isLocal = localTime === undefined ? current.localTime !== null : localTime !== null;
  return isLocal && scheduledDate ? [{ field: 'scheduledDate', message: 'follows from localTime' }] : [];
}

function tlvFaults(tlvs: readonly GivenTlv[]): FieldError[] {
  const read = readGivenTlvs(tlvs);
  return 'fault' in read ? [{ field: `tlvs${read.fault.place}`, message: read.fault.message }] : [];
}

/** Settings that are stored as they are given. */
const COPIED_SETTINGS = [
  'description',
  'sendingMode',
  'smsSender',
  'smsBody',
  'rcsAgentId',
  'rcsTemplateId',
  'rcsTrafficType',
  'whatsappPhoneNumberId',
  'whatsappTemplateId',
  'readyToSend',
  'quietHours',
  'purpose',
  'respectCalendar',
  'localTime',
  'weeklyCap',
  'encoding',
  'tlvs',
  'rate',
] as const;

const nameFaults = ({ name }: CampaignPatch): FieldError[] =>
  name !== undefined && name.trim() === '' ? [{ field: 'name', message: 'must not be empty' }] : [];

/**
 * Checks that there are not both lists and numbers, and that `destinationType` agrees. An empty array counts as none.
 */
function recipientFaults({ contactListIds = [], destinations = [], destinationType }: CampaignPatch): FieldError[] {
  const [lists, numbers] = [contactListIds.length > 0, destinations.length > 0];
  if (lists && numbers)
    return ['contactListIds', 'destinations'].map((field) => ({
      field,
      message: 'a campaign has either contact lists or destinations, not both',
    }));
  if (destinationType === 1 && numbers)
    return [{ field: 'destinationType', message: '1 means contact lists, and there are destinations' }];
  if (destinationType === 2 && lists)
    return [{ field: 'destinationType', message: '2 means destinations, and there are contact lists' }];
  return [];
}

type Recipients = Pick<Settings, 'destinationType' | 'contactListIds' | 'destinations'>;

function recipientsOf(current: Recipients, body: CampaignPatch): Recipients {
  const lists = [...new Set(body.contactListIds ?? [])];
  const numbers = body.destinations ?? [];
  if (lists.length > 0) return { destinationType: 1, contactListIds: lists, destinations: [] };
  if (numbers.length > 0) return { destinationType: 2, contactListIds: [], destinations: numbers };
  const remaining = {
    contactListIds: body.contactListIds || body.destinationType === 2 ? [] : current.contactListIds,
    destinations: body.destinations || body.destinationType === 1 ? [] : current.destinations,
  };
  const type = remaining.contactListIds.length > 0 ? 1 : remaining.destinations.length > 0 ? 2 : null;
  return { ...remaining, destinationType: type ?? body.destinationType ?? null };
}

function dateFaults(text: string | null | undefined, now: Date): FieldError[] {
  if (text === undefined || text === null) return [];
  const date = parseScheduledDate(text);
  if (date === null)
    return [{ field: 'scheduledDate', message: 'must be a date such as 2027-01-31 09:00:00.000+0100' }];
  return date <= now ? [{ field: 'scheduledDate', message: 'must be in the future' }] : [];
}

/** Returns true if a change of the settings makes an earlier audience stale, because something else would be sent now. */
export const changesAudience = (before: Settings, after: Settings): boolean =>
  AUDIENCE_SETTINGS.some((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));

const AUDIENCE_SETTINGS = [
  'sendingMode',
  'smsSender',
  'smsBody',
  'encoding',
  'purpose',
  'rcsAgentId',
  'rcsTemplateId',
  'rcsTrafficType',
  'whatsappPhoneNumberId',
  'whatsappTemplateId',
  'contactListIds',
  'destinations',
] as const;
