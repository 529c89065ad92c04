import { Button } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Facts } from '../../../ui/values/facts.tsx';
import { Section } from '../../../ui/section.tsx';
import type { Connection } from '../connection.ts';
import { type Field, FIELDS, settingsOf } from '../fields.ts';
import { useSettingWords } from '../setting-words.ts';

/** How it is set; its secrets are sealed and never shown. Settings that few need are told when they are not usual. */
export function Settings({ connection: { kind, settings } }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const [isAll, setIsAll] = useState(false);
  const words = useSettingWords();
  const all = settingsOf(kind).filter(({ name }) => !isEmpty(settings[name]));
  const few = all.filter((field) => !FIELDS[kind].more.includes(field) || !isUsual(field, settings[field.name]));
  return (
    <Section title={t('connection.settings')} description={t('connection.settingsHint')}>
      <Facts
        facts={(isAll ? all : few).map((field) => ({
          label: t(`setting.${kind}.${field.name}`),
          value: <bdi>{words(field, settings[field.name])}</bdi>,
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
const isUsual = ({ fallback }: Field, value: unknown): boolean => String(value) === String(fallback);
