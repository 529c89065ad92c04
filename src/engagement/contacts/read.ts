import type { Static } from 'typebox';
import { type FieldError, invalidFields } from '../../platform/errors.ts';
import { type PhoneDetails, parsePhone } from '../../platform/lib/phone/phone-details.ts';
import { channelsOf } from './channels.ts';
import type { FieldRow } from './fields/sql.ts';
import { readValues, type StoredValues } from './fields/values.ts';
import type { ContactPatch } from './schema.ts';
import type { ContactRow, NewContact } from './sql.ts';

/** What is needed to read contacts of an account: the country of its national numbers, and its custom fields. */
export type ReadContext = { readonly defaultCountry: string | null; readonly fields: readonly FieldRow[] };

export const UNREADABLE_NUMBER = 'is not a phone number: write it with + and the country code';

/** Reads an input, and finds every faulty field. */
function readInput(
  input: Static<typeof ContactPatch>,
  { defaultCountry, fields }: ReadContext,
  current: ContactRow | null,
  isRefused: (field: string) => boolean = () => false,
) {
  const number = readNumber(input.phoneNumber, defaultCountry, current);
  const values = readValues(fields, input.customFields ?? {});
  const email = input.email === undefined ? (current?.email ?? null) : toEmail(input.email);
  const known = !isRefused('phoneNumber') && !isRefused('email');
  const faults = [...values.faults, ...faultsOf(number, known ? { email, optedOut: input.optedOut ?? [] } : null)];
  return { number, stored: values.stored, email, faults };
}

/** Returns the faults of an input, apart from the fields that the schema has refused. */
export const faultsOfContact = (...input: Required<Parameters<typeof readInput>>): FieldError[] =>
  readInput(...input).faults;

/**
 * Reads the new fields of a contact: the fields of `input` replace those of `current` (null removes a value), the
 * others stay. If the number stays, so do its channels, which carriers may have corrected.
 * Errors: 400 with every faulty field, also when neither a number nor an e-mail address remains.
 */
export function readContact(
  input: Static<typeof ContactPatch>,
  reading: ReadContext,
  current: ContactRow | null,
): NewContact {
  const { number, stored, email, faults } = readInput(input, reading, current);
  if (faults.length > 0 || number === 'unreadable') throw invalidFields(faults);
  return {
    ...readNames(input, current),
    ...number,
    email,
    gender: input.gender === undefined ? (current?.gender ?? null) : input.gender,
    isTest: input.isTest ?? current?.isTest ?? false,
    customFields: { ...onlyKnown(reading.fields, current), ...stored },
  };
}

function readNumber(text: Text, country: string | null, current: ContactRow | null): NumberFields | 'unreadable' {
  if (text === undefined) return current ? numberFieldsOf(current) : describePhone(null);
  const phone = text ? parsePhone(text, country) : null;
  if (text && phone === null) return 'unreadable';
  return current && phone?.e164 === current.phoneNumber ? numberFieldsOf(current) : describePhone(phone);
}

type OtherFields = { readonly email: string | null; readonly optedOut: readonly string[] };

/** Returns the faults of the number. `others` is null when the schema has refused the number or the e-mail address. */
function faultsOf(number: NumberFields | 'unreadable', others: OtherFields | null): readonly FieldError[] {
  if (number === 'unreadable') return [{ field: 'phoneNumber', message: UNREADABLE_NUMBER }];
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
const trimmed = (text: Text, before: string | null): string | null =>
  text === undefined ? before : text?.trim() || null;

const readNames = (input: { firstName?: Text; lastName?: Text; fullName?: Text }, current: ContactRow | null) => ({
  firstName: trimmed(input.firstName, current?.firstName ?? null),
  lastName: trimmed(input.lastName, current?.lastName ?? null),
  givenFullName: trimmed(input.fullName, current?.givenFullName ?? null),
});

export const toEmail = (text: string | null): string | null => text?.trim().toLowerCase() || null;

type NumberFields = Pick<NewContact, 'phoneNumber' | 'isValid' | 'numberType' | 'country' | 'channels'>;

/** Returns the fields of a contact that follow from its number. */
export const describePhone = (phone: PhoneDetails | null): NumberFields => ({
  phoneNumber: phone?.e164 ?? null,
  isValid: phone?.isValid ?? false,
  numberType: phone?.type ?? null,
  country: phone?.country ?? null,
  channels: channelsOf(phone),
});

const numberFieldsOf = ({ phoneNumber, isValid, numberType, country, channels }: ContactRow): NumberFields => ({
  phoneNumber,
  isValid,
  numberType,
  country,
  channels,
});

/** Returns the custom values of a contact, without those of deleted fields: they are removed at the next change. */
const onlyKnown = (fields: readonly FieldRow[], current: ContactRow | null): StoredValues =>
  Object.fromEntries(
    fields.flatMap(({ id }) => {
      const value = current?.customFields[id];
      return value === undefined ? [] : [[String(id), value] as const];
    }),
  );
