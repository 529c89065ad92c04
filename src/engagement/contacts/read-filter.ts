import { type FieldError, invalidFields } from '../../platform/errors.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { CHANNELS } from '../../platform/lib/channel.ts';
import { parseInstant } from '../../platform/lib/instant.ts';
import { readIds } from '../../platform/lib/id-list.ts';
import { parsePhone } from '../../platform/lib/phone-details.ts';
import { bitOf } from '../../platform/lib/channel.ts';
import { readText, type StoredValues } from './fields/values.ts';
import type { ReadContext } from './read.ts';
import { CUSTOM_FIELD_PREFIX } from './schema.ts';
import type { Gender } from './sql.ts';
import type { ContactFilter } from './listing/sql.ts';

/** The filters of a query as its schema lets them pass; fields by the names of custom fields stand beside them. */
export type FilterQuery = {
  readonly search?: string;
  readonly gender?: Gender;
  readonly isValid?: boolean;
  readonly isTest?: boolean;
  readonly communicationSupported?: string;
  readonly phoneNumber?: string;
  readonly email?: string;
  readonly lastContactType?: Channel;
  readonly lastCampaignType?: string;
  readonly listIds?: string;
  readonly notListIds?: string;
  readonly contactIds?: string;
  readonly optedOut?: string;
  readonly createdFrom?: string;
  readonly createdTo?: string;
};

/** Errors: 400 naming days that the calendar lacks, custom fields that do not exist or whose value has another type. */
export function readFilter(accountId: number, query: FilterQuery, reading: ReadContext): ContactFilter {
  const { gender, isValid, isTest, lastContactType, lastCampaignType, listIds } = query;
  const { values, faults } = readValues(query, reading);
  const all = [...unknownDays(query), ...faults];
  if (all.length > 0) throw invalidFields(all);
  return {
    accountId,
    gender,
    isValid,
    isTest,
    lastContactType,
    lastCampaignType,
    search: toSearch(query.search),
    channels: toBits(query.communicationSupported),
    optedOut: toChannelNames(query.optedOut),
    createdFrom: toInstant(query.createdFrom),
    createdTo: toInstant(query.createdTo),
    phoneNumber: toNumber(query.phoneNumber, reading.defaultCountry),
    email: query.email?.trim().toLowerCase(),
    listGroups: listIds === undefined ? undefined : [readIds(listIds)],
    notListIds: readIds(query.notListIds),
    contactIds: readIds(query.contactIds),
    customFields: values,
  };
}

const PHONE_LIKE = /^[+\d\s().-]+$/;

/** Parts of numbers are found however they are punctuated. */
function toSearch(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  if (!trimmed) return undefined;
  return PHONE_LIKE.test(trimmed) && /\d/.test(trimmed) ? trimmed.replace(/[\s().-]/g, '') : trimmed;
}

const toChannelNames = (channels: string | undefined): Channel[] | undefined =>
  channels === undefined ? undefined : CHANNELS.filter((channel) => channels.split(',').includes(channel));

const toBits = (channels: string | undefined): number | undefined =>
  toChannelNames(channels)?.reduce((bits, channel) => bits | bitOf(channel), 0);

const toInstant = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : (parseInstant(text) ?? undefined);

const INSTANTS = ['createdFrom', 'createdTo'] as const;

/** Of the form that the schema asks for, on a day that no calendar has. */
function unknownDays(query: FilterQuery): FieldError[] {
  const unknown = INSTANTS.filter((field) => query[field] !== undefined && toInstant(query[field]) === undefined);
  return unknown.map((field) => ({ field, message: 'must be on a day of the calendar' }));
}

/** What is no number is nobody's. */
const toNumber = (text: string | undefined, country: string | null): string | undefined =>
  text === undefined ? undefined : (parsePhone(text, country)?.e164 ?? text);

function readValues(
  query: object,
  { fields }: ReadContext,
): { values: StoredValues | undefined; faults: readonly FieldError[] } {
  const stored: Record<string, string | number | boolean> = {};
  const faults: FieldError[] = [];
  for (const [key, text] of Object.entries(query)) {
    if (!key.startsWith(CUSTOM_FIELD_PREFIX)) continue;
    const name = key.slice(CUSTOM_FIELD_PREFIX.length).toLowerCase();
    const field = fields.find((known) => known.name.toLowerCase() === name);
    const value = field && typeof text === 'string' ? readText(field, text) : undefined;
    if (!field) faults.push({ field: key, message: 'is no custom field of this account' });
    else if (value === undefined) faults.push({ field: key, message: `must be one ${field.type}` });
    else stored[field.id] = value;
  }
  return { values: Object.keys(stored).length > 0 ? stored : undefined, faults };
}
