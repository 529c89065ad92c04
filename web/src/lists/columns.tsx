import { Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/table/data-table.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { TextLink } from '../ui/link.tsx';
import { Num } from '../ui/values/num.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import type { List } from './list.ts';

export function useListColumns(): readonly Column<List>[] {
  const { t } = useTranslation('lists');
  return useMemo(
    () => [
      {
        id: 'name',
        header: t('column.name'),
        sortable: true,
        phone: 'title',
        cell: (list) => <Name list={list} />,
      },
      {
        id: 'contactCount',
        header: t('column.contactCount'),
        sortable: true,
        align: 'right',
        width: 130,
        cell: ({ contactCount }) => <Num value={contactCount} />,
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        sortable: true,
        width: 180,
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
    ],
    [t],
  );
}

function Name({ list: { id, name, description, isTest, deletedAt } }: { readonly list: List }) {
  const { t } = useTranslation('lists');
  return (
    <Stack gap={2}>
      <Group gap="xs">
        <TextLink to={`/lists/${id}`} fw={600} dir="auto" style={{ overflowWrap: 'anywhere' }}>
          {name}
        </TextLink>
        {isTest && <StatusBadge tone="neutral">{t('test')}</StatusBadge>}
        {deletedAt !== null && <StatusBadge tone="neutral">{t('deleted')}</StatusBadge>}
      </Group>
      {description !== '' && (
        <Text size="xs" c="dimmed" fw={400} className="foreign-text" dir="auto" lineClamp={2}>
          {description}
        </Text>
      )}
    </Stack>
  );
}
