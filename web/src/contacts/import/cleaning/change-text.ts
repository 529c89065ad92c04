import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../ui/values/format.ts';
import type { Change } from '../import.ts';

type ChangeName = Pick<Change, 'cure' | 'field' | 'country' | 'rows'>;

/** Returns the name of a field as people know it. */
export function useFieldName(): (field: string) => string {
  const { t } = useTranslation('contacts');
  return (field) => t(`import.field.${field}`, field.replace(/^customFields\./, ''));
}

/** Returns functions that describe a cure: as a button, and as a finished action. */
export function useChangeText() {
  const { t, i18n } = useTranslation('contacts');
  const format = useFormat();
  const fieldName = useFieldName();
  const country = (code: string | null): string =>
    code === null ? '' : (new Intl.DisplayNames(i18n.language, { type: 'region' }).of(code) ?? code);
  const values = ({ field, country: code, rows }: ChangeName) => ({
    count: rows,
    shown: format.number(rows),
    field: fieldName(field),
    country: country(code),
  });
  return {
    cure: (change: ChangeName): string => t(`import.cure.${change.cure}`, values(change)),
    done: (change: ChangeName): string => t(`import.cured.${change.cure}`, values(change)),
  };
}
