import { useTranslation } from 'react-i18next';
import { Facts } from '../../ui/facts.tsx';
import { useFormat } from '../../ui/format.ts';
import { Section } from '../../ui/section.tsx';
import type { Connection } from './connection.ts';
import { type Field, FIELDS } from './fields.ts';

/** How it is set; its secrets are sealed and never shown. */
export function Settings({ connection: { kind, settings } }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const words = useWords();
  const { main, more } = FIELDS[kind];
  const told = [...main, ...more].filter(({ name }) => settings[name] !== undefined);
  return (
    <Section title={t('connection.settings')} description={t('connection.settingsHint')}>
      <Facts facts={told.map((field) => ({ label: t(`setting.${kind}.${field.name}`), value: <bdi>{words(field, settings[field.name])}</bdi> }))} />
    </Section>
  );
}

function useWords() {
  const { t } = useTranslation('operator');
  const format = useFormat();
  return ({ name, type }: Field, value: unknown): string => {
    if (type === 'switch') return t(value === true ? 'yes' : 'no');
    if (type === 'choice') return t(`settingOption.${name}.${String(value)}`, { defaultValue: String(value) });
    if (Array.isArray(value)) return value.join(', ');
    return type === 'figure' && typeof value === 'number' && name !== 'port' ? format.number(value) : String(value);
  };
}
