import { useTranslation } from 'react-i18next';
import { useFormat } from '../ui/values/format.ts';
import type { CustomField, CustomValue } from './contact.ts';

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
