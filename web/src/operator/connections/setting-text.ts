import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { useServerText } from '../shared/server-text.ts';
import type { Field } from './fields.ts';

/** Returns a function that formats the value of a setting. */
export function useSettingText() {
  const { t } = useTranslation('operator');
  const serverText = useServerText();
  const format = useFormat();
  return ({ name, type }: Field, value: unknown): string => {
    if (type === 'switch') return t(value === true ? 'yes' : 'no');
    if (type === 'choice') return serverText(`settingOption.${name}.${String(value)}`, String(value));
    if (Array.isArray(value)) return value.join(', ');
    return typeof value === 'number' && name !== 'port' ? format.number(value) : String(value);
  };
}
