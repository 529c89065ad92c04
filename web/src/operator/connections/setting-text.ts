import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { useServerText } from '../shared/server-text.ts';
import type { Field } from './fields.ts';
import type { Kind } from './kind.ts';

/** Returns a function that formats the value of a setting. */
export function useSettingText() {
  const { t } = useTranslation('operator');
  const serverText = useServerText();
  const format = useFormat();
  return ({ name, type }: Field, value: unknown): string => {
    if (type === 'boolean') return t(value === true ? 'yes' : 'no');
    if (type === 'choice') return serverText(`settingOption.${name}.${String(value)}`, String(value));
    if (Array.isArray(value)) return value.join(', ');
    // Indented, since a long value can wrap at the blanks.
    if (type === 'object') return JSON.stringify(value, null, 1);
    return typeof value === 'number' && name !== 'port' ? format.number(value) : String(value);
  };
}

/** Returns a function that finds the label and the hint of a field: our own texts, or else those of the server. */
export function useFieldTexts() {
  const serverText = useServerText();
  return ({ kind }: Kind, { name, description }: Field) => ({
    label: serverText(`setting.${kind}.${name}`, name),
    description: serverText(`settingHint.${kind}.${name}`, description),
  });
}
