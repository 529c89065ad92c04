import { Checkbox, NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../ui/format.ts';
import type { Contact, ContactPatch, CustomField, CustomValue } from './contact.ts';

/** The values of the contact form; '' for missing values. */
export type ContactValues = {
  readonly firstName: string;
  readonly lastName: string;
  /** Shown instead of first and last name. */
  readonly fullName: string;
  readonly phoneNumber: string;
  readonly email: string;
  readonly gender: string;
  readonly isTest: boolean;
  readonly customFields: Readonly<Record<string, string>>;
};

const GENDERS = ['FEMALE', 'MALE', 'OTHER'] as const;

export const toValues = (contact: Partial<Contact>, fields: readonly CustomField[]): ContactValues => ({
  firstName: contact.firstName ?? '',
  lastName: contact.lastName ?? '',
  fullName: contact.fullName === joined(contact) ? '' : (contact.fullName ?? ''),
  phoneNumber: contact.phoneNumber ?? '',
  email: contact.email ?? '',
  gender: contact.gender ?? '',
  isTest: contact.isTest ?? false,
  customFields: Object.fromEntries(fields.map(({ name }) => [name, String(contact.customFields?.[name] ?? '')])),
});

type Names = { readonly firstName?: string | null; readonly lastName?: string | null };
const joined = ({ firstName, lastName }: Names): string => `${firstName ?? ''} ${lastName ?? ''}`.trim();

export function toPatch(values: ContactValues, fields: readonly CustomField[]): ContactPatch {
  const { firstName, lastName, fullName, phoneNumber, email, gender, isTest, customFields } = values;
  return {
    firstName: firstName.trim() || null,
    lastName: lastName.trim() || null,
    fullName: fullName.trim() || null,
    phoneNumber: phoneNumber.trim() || null,
    email: email.trim() || null,
    gender: GENDERS.find((each) => each === gender) ?? null,
    isTest,
    customFields: Object.fromEntries(
      fields.map((field) => [field.name, toCustomValue(field, (customFields[field.name] ?? '').trim())]),
    ),
  };
}

type ContactFieldsProps = {
  readonly form: UseFormReturnType<ContactValues>;
  readonly fields: readonly CustomField[];
  readonly readOnly?: boolean;
};

/** The fields of a contact that can be edited. */
export function ContactFields({ form, fields, readOnly = false }: ContactFieldsProps) {
  const { t } = useTranslation('contacts');
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <TextInput
          label={t('form.firstName')}
          maxLength={100}
          readOnly={readOnly}
          {...form.getInputProps('firstName')}
        />
        <TextInput label={t('form.lastName')} maxLength={100} readOnly={readOnly} {...form.getInputProps('lastName')} />
        <TextInput
          type="tel"
          label={t('column.phoneNumber')}
          placeholder="+39 333 123 4567"
          maxLength={50}
          readOnly={readOnly}
          {...form.getInputProps('phoneNumber')}
        />
        <TextInput
          type="email"
          label={t('column.email')}
          maxLength={254}
          readOnly={readOnly}
          {...form.getInputProps('email')}
        />
        <TextInput
          label={t('form.fullName')}
          placeholder={joined(form.values) || undefined}
          maxLength={200}
          readOnly={readOnly}
          {...form.getInputProps('fullName')}
        />
        <NativeSelect
          label={t('form.gender')}
          data={['', ...GENDERS].map((value) => ({ value, label: t(`genders.${value || 'none'}`) }))}
          disabled={readOnly}
          {...form.getInputProps('gender')}
        />
        {fields.map((field) => (
          <CustomInput key={field.id} form={form} field={field} readOnly={readOnly} />
        ))}
      </SimpleGrid>
      <Checkbox
        label={t('form.isTest')}
        description={t('form.isTestHint')}
        disabled={readOnly}
        {...form.getInputProps('isTest', { type: 'checkbox' })}
      />
    </>
  );
}

type CustomInputProps = Pick<ContactFieldsProps, 'form' | 'readOnly'> & { readonly field: CustomField };

function CustomInput({ form, field: { name, type, description }, readOnly }: CustomInputProps) {
  const { t } = useTranslation('contacts');
  const shared = { label: name, description: description || undefined, ...form.getInputProps(`customFields.${name}`) };
  if (type !== 'boolean')
    return <TextInput {...shared} type={type === 'text' ? 'text' : type} step="any" readOnly={readOnly} />;
  return (
    <NativeSelect
      {...shared}
      disabled={readOnly}
      data={['', 'true', 'false'].map((value) => ({ value, label: t(`yesNo.${value || 'none'}`) }))}
    />
  );
}

/** The value of a custom field from typed text; null removes the value. The server validates it. */
export function toCustomValue({ type }: Pick<CustomField, 'type'>, text: string): CustomValue | null {
  if (text === '') return null;
  if (type === 'boolean') return text === 'true';
  return type === 'number' && Number.isFinite(Number(text)) ? Number(text) : text;
}

type CustomTextProps = { readonly value: CustomValue; readonly field: Pick<CustomField, 'type'> };

/** A custom field value in the format of the user's language. */
export function CustomText({ value, field }: CustomTextProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  if (typeof value === 'boolean') return t(`yesNo.${value}`);
  if (typeof value === 'number') return <span className="tabular">{format.number(value)}</span>;
  if (field.type === 'date') return format.day(new Date(`${value}T00:00:00`));
  return <bdi>{value}</bdi>;
}
