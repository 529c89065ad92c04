import type { Static, Type } from 'typebox';
import { CHANNEL, CHANNELS, type Channel, toBits } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { type FieldError, invalidFields } from '../core/errors.ts';
import { foldText } from '../core/fold.ts';
import { readIds } from '../core/ids.ts';
import {
  describeNumber,
  NUMBER_FAULTS,
  type NumberFault,
  type NumberRules,
  type PhoneDetails,
  readNumber,
} from '../core/phone.ts';
import { parseInstant } from '../core/time.ts';
import { byField, FILTERED_FIELDS, NO_VALUES, readOwn } from './contact-fields.ts';
import { type FieldRow, faultOfType, readText, readValues, type StoredValues } from './fields.ts';
import { findBook } from './limits.ts';
import { findList } from './lists.ts';
import { type ContactPatch, CUSTOM_FIELD_PREFIX, type contactFilterFields, type listIdsField } from './schema.ts';
import {
  type ContactFilter,
  type ContactOrder,
  type ContactPage,
  type ContactRow,
  countContacts,
  countSearchHits,
  displayName,
  listContacts,
  listSearchHits,
  type NewContact,
} from './store.ts';

/** The filters of a query after its schema was checked. Filters by custom fields are further properties. */
type FilterQuery = Partial<Static<Type.TObject<typeof contactFilterFields & typeof listIdsField>>>;

/**
 * Reads the filter of a list of contacts. Errors: 400 naming dates that do not exist, and custom fields that do not
 * exist or have another type.
 */
export function readFilter(accountId: number, query: FilterQuery, reading: ReadContext): ContactFilter {
  const { lastContactType, lastCampaignType, listIds } = query;
  const { values, faults } = readFilterValues(query, reading);
  const supported = toChannelNames(query.communicationSupported);
  const all = [...unknownDays(query), ...faults];
  if (all.length > 0) throw invalidFields(all);
  return {
    accountId,
    ...byField<Pick<ContactFilter, (typeof FILTERED_FIELDS)[number]>>(FILTERED_FIELDS, (name) => query[name]),
    lastContactType,
    lastCampaignType: lastCampaignType?.toUpperCase(),
    search: toSearch(query.search),
    channels: supported && toBits(supported),
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
  const trimmed = text && foldText(text).trim();
  if (!trimmed) return undefined;
  return PHONE_LIKE.test(trimmed) && /\d/.test(trimmed) ? trimmed.replace(/[\s().-]/g, '') : trimmed;
}

const toChannelNames = (channels: string | undefined): Channel[] | undefined =>
  channels === undefined ? undefined : CHANNELS.filter((channel) => channels.split(',').includes(channel));

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

function readFilterValues(
  query: object,
  { fields }: ReadContext,
): { values: StoredValues | undefined; faults: readonly FieldError[] } {
  const stored: Record<string, string | number | boolean> = {};
  const faults: FieldError[] = [];
  for (const [key, text] of Object.entries(query)) {
    if (!key.startsWith(CUSTOM_FIELD_PREFIX)) continue;
    const name = foldText(key.slice(CUSTOM_FIELD_PREFIX.length));
    const field = fields.find((known) => foldText(known.name) === name);
    const value = field && typeof text === 'string' ? readText(field, text) : undefined;
    if (!field) faults.push({ field: key, message: 'is not a custom field of this account' });
    else if (value === undefined) faults.push({ field: key, message: faultOfType(field.type) });
    else stored[field.id] = value;
  }
  return { values: Object.keys(stored).length > 0 ? stored : undefined, faults };
}

/**
 * A search with more hits reads the contacts in order and checks each: a match that many contacts have is soon found.
 */
const MAX_HITS = 10_000;

export type ListQuery = {
  readonly filter: ContactFilter;
  readonly order: ContactOrder;
  /** Contacts of this list come before all others. */
  readonly priorityListId?: number | undefined;
  readonly limit: number;
  readonly offset: number;
};

type ContactsWithTotal = { readonly rows: ContactRow[]; readonly total: number };

/**
 * Finds one page of an account's contacts and the exact total. Among a million contacts, both take milliseconds where
 * an index or a counter can be used. `db` must be bound to the account (src/core/db/transaction.ts): otherwise searches
 * find nothing.
 */
export async function findContacts(
  db: Db,
  { filter: asked, priorityListId, ...page }: ListQuery,
): Promise<ContactsWithTotal> {
  const filter = await withHits(db, asked);
  if (priorityListId === undefined) return readPage(db, { ...page, filter }, asked);
  const groups = filter.listGroups ?? [];
  const first = { ...filter, listGroups: [[priorityListId], ...groups] };
  const others = { ...filter, notListIds: [...(filter.notListIds ?? []), priorityListId] };
  const ahead = await totalOf(db, first, first);
  const rows = page.offset < ahead ? await listContacts(db, { ...page, filter: first }) : [];
  const left = { limit: page.limit - rows.length, offset: Math.max(0, page.offset - ahead) };
  const rest = left.limit > 0 ? await listContacts(db, { ...page, ...left, filter: others }) : [];
  return { rows: [...rows, ...rest], total: await totalOf(db, filter, asked) };
}

/** Reads a page; if it is not full, the total follows from it. */
async function readPage(db: Db, page: ContactPage, asked: ContactFilter): Promise<ContactsWithTotal> {
  const rows = await listContacts(db, page);
  const isLast = rows.length < page.limit && (rows.length > 0 || page.offset === 0);
  return { rows, total: isLast ? page.offset + rows.length : await totalOf(db, page.filter, asked) };
}

/** Replaces the search of a filter by its hits, unless there are too many. */
async function withHits(db: Db, filter: ContactFilter): Promise<ContactFilter> {
  const { search, ...others } = filter;
  if (search === undefined) return filter;
  const hits = await listSearchHits(db, { accountId: filter.accountId, search, limit: MAX_HITS + 1 });
  return hits.length > MAX_HITS ? filter : { ...others, hits };
}

/**
 * Finds the total: from counters, the hits, or the search index alone if there are no other filters; else by counting.
 */
async function totalOf(db: Db, filter: ContactFilter, asked: ContactFilter): Promise<number> {
  const { accountId, search, listGroups = [], ...rest } = asked;
  const narrowed = Object.values(rest).some((value) => value !== undefined);
  if (narrowed || (search !== undefined && listGroups.length > 0)) return countContacts(db, { filter });
  if (search === undefined) return totalOfLists(db, filter);
  return filter.hits?.length ?? countSearchHits(db, { accountId, search });
}

/** Finds the total of lists: there are counters for a single list and for the account. */
async function totalOfLists(db: Db, filter: ContactFilter): Promise<number> {
  const { accountId, listGroups = [] } = filter;
  const [listIds, ...others] = listGroups;
  if (listIds === undefined) return (await findBook(db, { accountId }))?.contacts ?? 0;
  const [id, another] = listIds;
  if (id === undefined || another !== undefined || others.length > 0) return countContacts(db, { filter });
  return (await findList(db, { accountId, id }))?.contactCount ?? 0;
}

/**
 * Returns the bits of the channels on which a number can be reached: none without a number, or if it is not valid in
 * its country; all for a valid number of unknown type, which may be a handset.
 */
export function channelsOf(phone: PhoneDetails | null): number {
  if (!phone?.isValid) return 0;
  const { type } = phone;
  return toBits(CHANNELS.filter((channel) => type === null || CHANNEL[channel].reaches.some((one) => one === type)));
}

/** Context for reading contacts of an account: its number rules and its custom fields. */
type ReadContext = { readonly rules: NumberRules; readonly fields: readonly FieldRow[] };

/** Reads an input, and finds every faulty field. */
function readInput(
  input: Static<typeof ContactPatch>,
  { rules, fields }: ReadContext,
  current: ContactRow | null,
  isRefused: (field: string) => boolean = () => false,
) {
  const number = readPhone(input.phoneNumber, rules, current);
  const values = readValues(fields, input.customFields ?? {});
  const own = readOwn(input, current ?? undefined);
  const validity = isRefused('isValid') ? [] : validityFaults(input.isValid, number, rules);
  const known = !isRefused('phoneNumber') && !isRefused('email');
  const faults = [
    ...values.faults,
    ...validity,
    ...faultsOf(number, known ? { email: own.email, optedOut: input.optedOut ?? [] } : null),
  ];
  return { number, stored: values.stored, own, faults };
}

/** Returns the faults of an input, apart from the fields that the schema has rejected. */
export const faultsOfContact = (...input: Required<Parameters<typeof readInput>>): FieldError[] =>
  readInput(...input).faults;

/**
 * Reads the new fields of a contact: the fields of `input` replace those of `current` (null removes a value), the
 * others stay. If the number stays, so do its channels, which carriers may have corrected. Errors: 400 with every
 * faulty field, also when neither a number nor an email address remains.
 */
export function readContact(
  input: Static<typeof ContactPatch>,
  reading: ReadContext,
  current: ContactRow | null,
): NewContact {
  const { number, stored, own, faults } = readInput(input, reading, current);
  if (faults.length > 0 || 'fault' in number) throw invalidFields(faults);
  return {
    ...number,
    ...own,
    givenFullName: readFullName(input, current),
    isValid: input.isValid ?? number.isValid,
    allowedChannels: readAllowed(input.communicationSupported, current),
    customFields: { ...onlyKnown(reading.fields, current), ...stored },
  };
}

type Unreadable = { readonly fault: NumberFault };

function readPhone(text: Text, rules: NumberRules, current: ContactRow | null): NumberFields | Unreadable {
  if (text === undefined) return current ?? describePhone(null);
  const phone = text ? describeNumber(text, rules) : null;
  if (phone && 'fault' in phone) return phone;
  return current && phone?.e164 === current.phoneNumber ? current : describePhone(phone);
}

function validityFaults(
  isValid: boolean | undefined,
  number: NumberFields | Unreadable,
  rules: NumberRules,
): readonly FieldError[] {
  if (isValid !== true || 'fault' in number || number.isValid) return [];
  if (number.phoneNumber === null) return [{ field: 'isValid', message: 'can be true only with a phoneNumber' }];
  const phone = describeNumber(number.phoneNumber, rules);
  return 'fault' in phone || !phone.isValid
    ? [{ field: 'isValid', message: 'cannot be true: the number is not valid in its country' }]
    : [];
}

/**
 * Reads the bits of the channels on which campaigns may write. Sending back a value that was read before changes
 * nothing.
 */
function readAllowed(channels: readonly Channel[] | undefined, current: ContactRow | null): number {
  const before = current?.allowedChannels ?? toBits(CHANNELS);
  if (channels === undefined) return before;
  const given = toBits(channels);
  return current && given === (current.channels & before) ? before : given;
}

type OtherFields = { readonly email: string | null; readonly optedOut: readonly string[] };

/** Returns the faults of the number. `others` is null when the schema has rejected the number or the email address. */
function faultsOf(number: NumberFields | Unreadable, others: OtherFields | null): readonly FieldError[] {
  if ('fault' in number) return [{ field: 'phoneNumber', message: NUMBER_FAULTS[number.fault] }];
  if (number.phoneNumber !== null || others === null) return [];
  const { email, optedOut } = others;
  return email === null ? NUMBER_OR_EMAIL_REQUIRED : optedOut.length > 0 ? [OPT_OUT_NEEDS_NUMBER] : [];
}

const NUMBER_OR_EMAIL_REQUIRED: readonly FieldError[] = ['phoneNumber', 'email'].map((field) => ({
  field,
  message: 'one of phoneNumber and email is required',
}));
const OPT_OUT_NEEDS_NUMBER: FieldError = { field: 'optedOut', message: 'needs a phoneNumber' };

type Text = string | null | undefined;

/**
 * Reads the full name; `name` is another word for it. A display name that was read before and is sent back does not
 * count.
 */
function readFullName(
  { fullName, name }: { readonly fullName?: Text; readonly name?: Text },
  current: ContactRow | null,
): string | null {
  const text = fullName !== undefined || (current && name === displayName(current)) ? fullName : name;
  return text === undefined ? (current?.givenFullName ?? null) : text?.trim() || null;
}

type NumberFields = Pick<NewContact, 'phoneNumber' | 'isValid' | 'numberType' | 'country' | 'channels'>;

const describePhone = (phone: PhoneDetails | null): NumberFields => ({
  phoneNumber: phone?.e164 ?? null,
  isValid: phone?.isValid ?? false,
  numberType: phone?.type ?? null,
  country: phone?.country ?? null,
  channels: channelsOf(phone),
});

/** Returns a contact of which only the number is known. */
export const newContact = (phone: PhoneDetails | null): NewContact => ({
  ...NO_VALUES,
  ...describePhone(phone),
  givenFullName: null,
  customFields: {},
});

/** Returns the custom values of a contact, without those of deleted fields: they are removed at the next change. */
const onlyKnown = (fields: readonly FieldRow[], current: ContactRow | null): StoredValues =>
  Object.fromEntries(
    fields.flatMap(({ id }) => {
      const value = current?.customFields[id];
      return value === undefined ? [] : [[String(id), value] as const];
    }),
  );
