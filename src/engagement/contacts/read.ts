import type { Static } from 'typebox';
import { type FieldError, invalidFields } from '../../platform/errors.ts';
import { NUMBER_FAULTS, type NumberFault, type NumberRules } from '../../platform/lib/phone/number-rules.ts';
import { describeNumber, type PhoneDetails } from '../../platform/lib/phone/phone-details.ts';
import { bitOf, type Channel, CHANNELS } from '../../platform/lib/channel.ts';
import { channelsOf } from './channels.ts';
import type { FieldRow } from './fields/sql.ts';
import { readValues, type StoredValues } from './fields/values.ts';
import type { ContactPatch } from './schema.ts';
import { type ContactRow, displayName, type NewContact } from './sql.ts';

/** Context for reading contacts of an account: its number rules and its custom fields. */
export type ReadContext = { readonly rules: NumberRules; readonly fields: readonly FieldRow[] };

/** Reads an input, and finds every faulty field. */
function readInput(
  input: Static<typeof ContactPatch>,
  { rules, fields }: ReadContext,
  current: ContactRow | null,
  isRefused: (field: string) => boolean = () => false,
) {
  const number = readPhone(input.phoneNumber, rules, current);
  const values = readValues(fields, input.customFields ?? {});
  const email = input.email === undefined ? (current?.email ?? null) : toEmail(input.email);
  const validity = isRefused('isValid') ? [] : validityFaults(input.isValid, number, rules);
  const known = !isRefused('phoneNumber') && !isRefused('email');
  const faults = [
    ...values.faults,
    ...validity,
    ...faultsOf(number, known ? { email, optedOut: input.optedOut ?? [] } : null),
  ];
  return { number, stored: values.stored, email, faults };
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
  const { number, stored, email, faults } = readInput(input, reading, current);
  if (faults.length > 0 || 'fault' in number) throw invalidFields(faults);
  return {
    ...readNames(input, current),
    ...number,
    isValid: input.isValid ?? number.isValid,
    allowedChannels: readAllowed(input.communicationSupported, current),
    email,
    gender: input.gender === undefined ? (current?.gender ?? null) : input.gender,
    isTest: input.isTest ?? current?.isTest ?? false,
    customFields: { ...onlyKnown(reading.fields, current), ...stored },
  };
}

type Unreadable = { readonly fault: NumberFault };

function readPhone(text: Text, rules: NumberRules, current: ContactRow | null): NumberFields | Unreadable {
  if (text === undefined) return current ? numberFieldsOf(current) : describePhone(null);
  const phone = text ? describeNumber(text, rules) : null;
  if (phone && 'fault' in phone) return phone;
  return current && phone?.e164 === current.phoneNumber ? numberFieldsOf(current) : describePhone(phone);
}

/** Checks that a number which is to be valid is valid in its country. */
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
  const before = current?.allowedChannels ?? bitsOf(CHANNELS);
  if (channels === undefined) return before;
  const given = bitsOf(channels);
  return current && given === (current.channels & before) ? before : given;
}

const bitsOf = (channels: readonly Channel[]): number => channels.reduce((bits, channel) => bits | bitOf(channel), 0);

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
const trimmed = (text: Text, before: string | null): string | null =>
  text === undefined ? before : text?.trim() || null;

type Names = { readonly firstName?: Text; readonly lastName?: Text; readonly fullName?: Text; readonly name?: Text };

const readNames = (input: Names, current: ContactRow | null) => ({
  firstName: trimmed(input.firstName, current?.firstName ?? null),
  lastName: trimmed(input.lastName, current?.lastName ?? null),
  givenFullName: trimmed(fullNameIn(input, current), current?.givenFullName ?? null),
});

/**
 * Returns the full name; `name` is another word for it. A display name that was read before and is sent back does not
 * count.
 */
function fullNameIn({ fullName, name }: Names, current: ContactRow | null): Text {
  return fullName !== undefined || (current && name === displayName(current)) ? fullName : name;
}

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
