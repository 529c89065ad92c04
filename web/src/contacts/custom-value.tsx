import { useTranslation } from 'react-i18next';
import { useFormat } from '../ui/values/format.ts';
import type { CustomField, CustomValue } from './contact.ts';

/** What a text that somebody typed says in a custom field; null takes the value away. The server judges it. */
export function toCustomValue({ type }: Pick<CustomField, 'type'>, text: string): CustomValue | null {
  if (text === '') return null;
  if (type === 'boolean') return text === 'true';
  return type === 'number' && Number.isFinite(Number(text)) ? Number(text) : text;
}

type CustomTextProps = { readonly value: CustomValue; readonly field: Pick<CustomField, 'type'> };

/** A value of a custom field, as the reader's language writes it. */
export function CustomText({ value, field }: CustomTextProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  if (typeof value === 'boolean') return t(`yesNo.${value}`);
  if (typeof value === 'number') return <span className="tabular">{format.number(value)}</span>;
  if (field.type === 'date') return format.day(new Date(`${value}T00:00:00`));
  return <bdi>{value}</bdi>;
}
