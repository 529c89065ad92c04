import type { FieldError } from '../../platform/errors.ts';
import { parseScheduledDate } from '../../platform/lib/scheduled-date.ts';
import { knownFieldsOf } from '../../platform/lib/schema.ts';
import { Fallback } from '../../messaging/sending/fallback-schema.ts';
import { hoursFaults } from './policy/change.ts';
import { type CampaignIn, type CampaignPatch, Hours } from './schema.ts';
import type { Settings } from './sql.ts';

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
  rate: null,
};

/** The settings that result from a request, and its faults: contradictions, or dates that are not in the future. */
export type ReadSettings = { readonly settings: Settings; readonly faults: readonly FieldError[] };

/** Reads the settings of a new campaign. */
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
  ];
  const copied = COPIED_SETTINGS.flatMap((key) => (body[key] === undefined ? [] : [[key, body[key]] as const]));
  const settings: Settings = { ...current, ...Object.fromEntries(copied), ...recipientsOf(current, body) };
  if (quietHours) settings.quietHours = knownFieldsOf(Hours, quietHours);
  if (name !== undefined) settings.name = name.trim();
  if (fallback !== undefined) settings.fallback = knownFieldsOf(Fallback, fallback ?? {});
  if (scheduledDate !== undefined)
    settings.scheduledAt = scheduledDate === null ? null : parseScheduledDate(scheduledDate);
  return { settings, faults };
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

/** Returns true if a change of the settings makes an earlier goal stale, because something else would be sent now. */
export const changesGoal = (before: Settings, after: Settings): boolean =>
  GOAL_SETTINGS.some((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));

/** The settings that the goal depends on. */
const GOAL_SETTINGS = [
  'sendingMode',
  'smsSender',
  'smsBody',
  'rcsAgentId',
  'rcsTemplateId',
  'whatsappPhoneNumberId',
  'whatsappTemplateId',
  'contactListIds',
  'destinations',
] as const;
