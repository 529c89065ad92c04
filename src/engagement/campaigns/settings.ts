import type { FieldError } from '../../platform/errors.ts';
import { parseScheduledDate } from '../../platform/lib/scheduled-date.ts';
import { hoursFaults } from './policy/change.ts';
import type { CampaignIn, CampaignPatch } from './schema.ts';
import type { Settings } from './sql.ts';

/** A campaign of which nothing is said yet. */
const DEFAULTS: Omit<Settings, 'name' | 'sendingMode'> = {
  description: '',
  smsSender: null,
  smsBody: null,
  rcsAgentId: null,
  rcsTemplateId: null,
  whatsappPhoneNumberId: null,
  whatsappTemplateId: null,
  destinationType: null,
  contactListIds: [],
  destinations: [],
  scheduledAt: null,
  readyToSend: false,
  fallback: {},
  quietHours: null,
  rate: null,
};

/** Settings as a request means them, and what in it contradicts itself or is no date to come. */
export type ReadSettings = { readonly settings: Settings; readonly faults: readonly FieldError[] };

/** The settings of a new campaign. */
export const readNewSettings = (body: CampaignIn, now: Date): ReadSettings =>
  changeSettings({ ...DEFAULTS, name: '', sendingMode: body.sendingMode }, body, now);

/**
 * The settings of a campaign as a request changes them: what is left out stays, null takes a value away. Another kind of
 * recipients takes the place of the one before.
 */
export function changeSettings(current: Settings, body: CampaignPatch, now: Date): ReadSettings {
  const { name, fallback, scheduledDate } = body;
  const faults = [
    ...nameFaults(body),
    ...recipientFaults(body),
    ...dateFaults(scheduledDate, now),
    ...hoursFaults(body.quietHours && 'from' in body.quietHours ? body.quietHours : null),
  ];
  const copied = COPIED_SETTINGS.flatMap((key) => (body[key] === undefined ? [] : [[key, body[key]] as const]));
  const settings: Settings = { ...current, ...Object.fromEntries(copied), ...recipientsOf(current, body) };
  if (name !== undefined) settings.name = name.trim();
  if (fallback !== undefined) settings.fallback = fallback ?? {};
  if (scheduledDate !== undefined)
    settings.scheduledAt = scheduledDate === null ? null : parseScheduledDate(scheduledDate);
  return { settings, faults };
}

/** Settings that are kept as they are given. */
const COPIED_SETTINGS = [
  ...(['description', 'sendingMode', 'smsSender', 'smsBody', 'rcsAgentId', 'rcsTemplateId'] as const),
  ...(['whatsappPhoneNumberId', 'whatsappTemplateId', 'readyToSend', 'quietHours', 'rate'] as const),
];

const nameFaults = ({ name }: CampaignPatch): FieldError[] =>
  name !== undefined && name.trim() === '' ? [{ field: 'name', message: 'must not be empty' }] : [];

/** Lists and numbers are either or: empty arrays name nobody. */
function recipientFaults({ contactListIds = [], destinations = [], destinationType }: CampaignPatch): FieldError[] {
  const [lists, numbers] = [contactListIds.length > 0, destinations.length > 0];
  if (lists && numbers)
    return ['contactListIds', 'destinations'].map((field) => ({
      field,
      message: 'a campaign has either contact lists or destinations',
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
  return date <= now ? [{ field: 'scheduledDate', message: 'must lie in the future' }] : [];
}

/** Whether a goal that was calculated before counts something else than what would be sent now. */
export const changesGoal = (before: Settings, after: Settings): boolean =>
  GOAL_SETTINGS.some((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));

const GOAL_SETTINGS = [
  ...(['sendingMode', 'smsSender', 'smsBody', 'rcsAgentId', 'rcsTemplateId'] as const),
  ...(['whatsappPhoneNumberId', 'whatsappTemplateId', 'contactListIds', 'destinations'] as const),
];
