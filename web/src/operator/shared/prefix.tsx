import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { regionOf } from './regions.ts';

/** A number prefix with its country; "All numbers" if it is empty. */
export function Prefix({ prefix }: { readonly prefix: string }) {
  const { t, i18n } = useTranslation('operator');
  if (prefix === '') return <span>{t('prefix.all')}</span>;
  const region = regionOf(prefix);
  return (
    <Group gap="xs" wrap="nowrap">
      <span className="tabular" dir="ltr">
        +{prefix}
      </span>
      {region !== undefined && (
        <Text span size="sm" c="dimmed" fw={400}>
          {new Intl.DisplayNames(i18n.language, { type: 'region' }).of(region)}
        </Text>
      )}
    </Group>
  );
}
