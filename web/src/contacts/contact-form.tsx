import { Checkbox, NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { DateField } from '../ui/date-field.tsx';
import { useFormat } from '../ui/format.ts';
import { customFieldName } from '../ui/values.tsx';
import type { Contact, ContactPatch, CustomField, CustomValue } from './contact.ts';

/** The fields that a form shows. `name` is another word for `fullName`; consent has its own panel. */
type Patch = Required<Omit<ContactPatch, 'name' | 'isValid' | 'communicationSupported' | 'optedOut'>>;
type TextField = Exclude<keyof Patch, 'gender' | 'isTest' | 'customFields'>;

/** The texts in the order of the form. */
const TEXTS = {
  firstName: { label: 'form.firstName', maxLength: 100 },
  lastName: { label: 'form.lastName', maxLength: 100 },
  phoneNumber: { label: 'column.phoneNumber', maxLength: 50, type: 'tel', placeholder: '+39 333 123 4567' },
  email: { label: 'column.email', maxLength: 254, type: 'email' },
  fullName: { label: 'form.fullName', maxLength: 200 },
} as const satisfies Record<TextField, object>;
export const TEXT_FIELDS = Object.keys(TEXTS) as TextField[];

/** The values of the contact form; '' for missing values. `fullName` is shown instead of first and last name. */
export type ContactValues = Readonly<Record<TextField, string>> & {
  readonly gender: string;
  readonly isTest: boolean;
  readonly customFields: Readonly<Record<string, string>>;
};

const GENDERS = ['FEMALE', 'MALE', 'OTHER'] as const;

const textsOf = <V,>(valueOf: (field: TextField) => V) =>
  Object.fromEntries(TEXT_FIELDS.map((field) => [field, valueOf(field)])) as Record<TextField, V>;

export const toValues = (contact: Partial<Contact>, fields: readonly CustomField[]): ContactValues => ({
  ...textsOf((field) => contact[field] ?? ''),
  ...(contact.fullName === joined(contact) && { fullName: '' }),
  gender: contact.gender ?? '',
  isTest: contact.isTest ?? false,
  customFields: Object.fromEntries(fields.map(({ name }) => [name, String(contact.customFields?.[name] ?? '')])),
});

const joined = ({ firstName, lastName }: Pick<ContactPatch, 'firstName' | 'lastName'>): string =>
  `${firstName ?? ''} ${lastName ?? ''}`.trim();

export const toPatch = (values: ContactValues, fields: readonly CustomField[]): Patch => ({
  ...textsOf((field) => values[field].trim() || null),
  gender: GENDERS.find((each) => each === values.gender) ?? null,
  isTest: values.isTest,
  customFields: Object.fromEntries(
    fields.map((field) => [field.name, toCustomValue(field, (values.customFields[field.name] ?? '').trim())]),
  ),
});

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
        {TEXT_FIELDS.map((field) => (
          <TextInput
            key={field}
            {...TEXTS[field]}
            label={t(TEXTS[field].label)}
            {...(field === 'fullName' && { placeholder: joined(form.values) || undefined })}
            readOnly={readOnly}
            {...form.getInputProps(field)}
          />
        ))}
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
  const shared = {
    label: customFieldName(name),
    description: description || undefined,
    ...form.getInputProps(`customFields.${name}`),
  };
  if (type === 'date') return <DateField {...shared} readOnly={readOnly} />;
  if (type !== 'boolean') return <TextInput {...shared} type={type} step="any" readOnly={readOnly} />;
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
