import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { useWord } from '../shared/word.ts';
import type { Field } from './fields.ts';

/** The value of a setting as people read it. */
export function useSettingWords() {
  const { t } = useTranslation('operator');
  const word = useWord();
  const format = useFormat();
  return ({ name, type }: Field, value: unknown): string => {
    if (type === 'switch') return t(value === true ? 'yes' : 'no');
    if (type === 'choice') return word(`settingOption.${name}.${String(value)}`, String(value));
    if (Array.isArray(value)) return value.join(', ');
    return typeof value === 'number' && name !== 'port' ? format.number(value) : String(value);
  };
}
