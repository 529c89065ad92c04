import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import type { Campaign } from '../campaign.ts';

const REASONS = ['invalid', 'unsupported', 'optedOut', 'text', 'noRoute', 'noPrice', 'duplicate'] as const;

/** The reasons for skipped recipients, with counts; reasons without recipients are omitted. */
export function SkipReasons({ skipped }: Pick<Campaign, 'skipped'>) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const found = REASONS.filter((reason) => (skipped?.[reason] ?? 0) > 0);
  if (found.length === 0) return null;
  return (
    <Group gap="xs">
      <Text size="sm" c="dimmed">
        {t('goal.why')}
      </Text>
      {found.map((reason) => (
        <StatusBadge key={reason} tone={reason === 'duplicate' ? 'neutral' : 'warning'}>
          {t(`skipped.${reason}`, { count: skipped?.[reason], shown: format.number(skipped?.[reason] ?? 0) })}
        </StatusBadge>
      ))}
    </Group>
  );
}
