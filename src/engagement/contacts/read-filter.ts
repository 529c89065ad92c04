import { type FieldError, invalidFields } from '../../platform/errors.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { CHANNELS } from '../../platform/lib/channel.ts';
import { parseInstant } from '../../platform/lib/instant.ts';
import { readIds } from '../../platform/lib/id-list.ts';
import type { NumberRules } from '../../platform/lib/phone/number-rules.ts';
import { readNumber } from '../../platform/lib/phone/read-number.ts';
import { bitOf } from '../../platform/lib/channel.ts';
import { faultOfType, readText, type StoredValues } from './fields/values.ts';
import type { ReadContext } from './read.ts';
import { CUSTOM_FIELD_PREFIX } from './schema.ts';
import type { Gender } from './sql.ts';
import type { ContactFilter } from './listing/sql.ts';

/** The filters of a query after its schema was checked. Filters by custom fields are further properties. */
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

/**
 * Reads the filter of a list of contacts. Errors: 400 naming dates that do not exist, and custom fields that do not
 * exist or have another type.
 */
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
    lastCampaignType: lastCampaignType?.toUpperCase(),
    search: toSearch(query.search),
    channels: toBits(query.communicationSupported),
    optedOut: toChannelNames(query.optedOut),
    createdFrom: toInstant(query.createdFrom),
    createdTo: toInstant(query.createdTo),
    phoneNumber: toNumber(query.phoneNumber, reading.rules),
    email: query.email?.trim().toLowerCase(),
    listGroups: listIds === undefined ? undefined : [readIds(listIds)],
    notListIds: readIds(query.notListIds),
    contactIds: readIds(query.contactIds),
    customFields: values,
  };
}

const PHONE_LIKE = /^[+\d\s().-]+$/;

/** Removes punctuation from a search for a part of a number, so that it is found in any notation. */
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

/** Returns the faults of instants that have the right form, but a date that does not exist. */
function unknownDays(query: FilterQuery): FieldError[] {
  const unknown = INSTANTS.filter((field) => query[field] !== undefined && toInstant(query[field]) === undefined);
  return unknown.map((field) => ({ field, message: 'must have a date that exists' }));
}

/**
 * Reads a number. One without a country code may also be an international one, because a plus in a query that is not
 * escaped arrives as a space. A text that is not a number stays as it is, and matches no contact.
 */
function toNumber(text: string | undefined, rules: NumberRules): string | undefined {
  if (text === undefined) return undefined;
  const readings = [text, `+${text.trim()}`].map((form) => readNumber(form, rules));
  return readings.find((reading) => 'e164' in reading)?.e164 ?? text;
}

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
    if (!field) faults.push({ field: key, message: 'is not a custom field of this account' });
    else if (value === undefined) faults.push({ field: key, message: faultOfType(field.type) });
    else stored[field.id] = value;
  }
  return { values: Object.keys(stored).length > 0 ? stored : undefined, faults };
}
