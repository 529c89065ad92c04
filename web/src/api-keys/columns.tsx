import { Code, Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/table/data-table.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { type ApiKey, expiresSoon } from './api-key.ts';
import { ScopeNames } from './scope-names.tsx';

export function useKeyColumns(): readonly Column<ApiKey>[] {
  const { t } = useTranslation('api-keys');
  return useMemo(
    () => [
      { id: 'name', header: t('column.name'), phone: 'title', cell: (key) => <Name apiKey={key} /> },
      {
        id: 'operations',
        header: t('column.operations'),
        cell: ({ operations }) => <ScopeNames scopes={operations} />,
      },
      { id: 'status', header: t('column.status'), cell: (key) => <Status apiKey={key} /> },
      {
        id: 'lastUsedAt',
        header: t('column.lastUsedAt'),
        cell: ({ lastUsedAt }) => (lastUsedAt ? <DateTime value={lastUsedAt} /> : t('never')),
      },
      {
        id: 'expiresAt',
        header: t('column.expiresAt'),
        cell: ({ expiresAt }) => (expiresAt ? <DateTime value={expiresAt} /> : t('never')),
      },
      {
        id: 'username',
        header: t('column.username'),
        hidden: true,
        cell: ({ username }) => username ?? t('byOperator'),
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        hidden: true,
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
    ],
    [t],
  );
}

function Name({ apiKey: { name, description, prefix } }: { readonly apiKey: ApiKey }) {
  return (
    <Stack gap={2}>
      <Group gap="xs">
        {name !== '' && (
          <Text size="sm" fw={600} dir="auto">
            {name}
          </Text>
        )}
        <Code>{prefix}…</Code>
      </Group>
      {description !== '' && (
        <Text size="xs" c="dimmed" fw={400} className="foreign-text" dir="auto" lineClamp={2}>
          {description}
        </Text>
      )}
    </Stack>
  );
}

function Status({ apiKey }: { readonly apiKey: ApiKey }) {
  const { t } = useTranslation('api-keys');
  const { status } = apiKey;
  if (expiresSoon(apiKey)) return <StatusBadge tone="warning">{t('status.soon')}</StatusBadge>;
  return <StatusBadge tone={status === 'active' ? 'good' : 'neutral'}>{t(`status.${status}`)}</StatusBadge>;
}
