import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { StatusBadge } from '../../ui/values/status-badge.tsx';

/** Summary of the checks in one sentence. One that took too long does not count as a problem. */
export function Summary({ results }: { readonly results: readonly (boolean | null)[] }) {
  const { t } = useTranslation('operator');
  const bad = results.filter((isGood) => isGood === false).length;
  return (
    <Group gap="sm" role="status">
      <StatusBadge tone={bad === 0 ? 'good' : 'bad'}>{t(`health.word.${bad === 0 ? 'good' : 'bad'}`)}</StatusBadge>
      <Text size="sm">
        {bad === 0
          ? t('health.allGood', { count: results.length })
          : t('health.someBad', { count: bad, all: results.length })}
      </Text>
    </Group>
  );
}
