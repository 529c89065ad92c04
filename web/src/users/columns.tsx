import { Badge, Group, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/table/data-table.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import type { User } from './user.ts';
import { useIsSelf } from './user-rules.ts';

export function useUserColumns(): readonly Column<User>[] {
  const { t } = useTranslation('users');
  return useMemo(
    () => [
      { id: 'username', header: t('column.username'), phone: 'title', cell: (user) => <Name user={user} /> },
      { id: 'role', header: t('column.role'), cell: ({ role }) => <span>{t(`role.${role}`)}</span> },
      { id: 'createdAt', header: t('column.createdAt'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t],
  );
}

function Name({ user }: { readonly user: User }) {
  const { t } = useTranslation('users');
  const isSelf = useIsSelf()(user);
  return (
    <Group gap="xs">
      <Text size="sm" fw={600} className="foreign-text" dir="auto">
        {user.username}
      </Text>
      {isSelf && <Badge color="blue">{t('you')}</Badge>}
      {user.isOperator && <Badge color="violet">{t('isOperator')}</Badge>}
    </Group>
  );
}
