import { Button } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Facts } from '../../../ui/values/facts.tsx';
import { Section } from '../../../ui/section.tsx';
import type { Connection } from '../connection.ts';
import { type Field, fieldsOf, settingsOf, textOf } from '../fields.ts';
import type { Kind } from '../kind.ts';
import { useFieldTexts, useSettingText } from '../setting-text.ts';

type SettingsProps = { readonly connection: Connection; readonly kind: Kind };

/**
 * The settings of the connection, without its secrets. Rarely used settings are shown only if they differ from the
 * default.
 */
export function Settings({ connection: { settings }, kind }: SettingsProps) {
  const { t } = useTranslation('operator');
  const [isAll, setIsAll] = useState(false);
  const settingText = useSettingText();
  const fieldTexts = useFieldTexts();
  const all = settingsOf(kind).filter(({ name }) => !isEmpty(settings[name]));
  const more = new Set(fieldsOf(kind).more.map(({ name }) => name));
  const few = all.filter((field) => !more.has(field.name) || !isUsual(field, settings[field.name]));
  return (
    <Section title={t('connection.settings')} description={t('connection.settingsHint')}>
      <Facts
        facts={(isAll ? all : few).map((field) => ({
          label: fieldTexts(kind, field).label,
          value: <bdi>{settingText(field, settings[field.name])}</bdi>,
        }))}
      />
      {few.length < all.length && (
        <Button
          variant="subtle"
          color="gray"
          size="xs"
          onClick={() => setIsAll(!isAll)}
          style={{ alignSelf: 'flex-start' }}
        >
          {isAll ? t('connection.fewSettings') : t('connection.allSettings', { count: all.length - few.length })}
        </Button>
      )}
    </Section>
  );
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';
const isUsual = ({ fallback }: Field, value: unknown): boolean =>
  typeof value === 'boolean' ? value === fallback : textOf(value) === textOf(fallback);
