import { Group } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../../ui/table/data-table.tsx';
import { Num } from '../../ui/values/num.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { Prefix } from '../shared/prefix.tsx';
import { ConditionsText } from './conditions.tsx';
import type { Route } from './route.ts';

export function useRouteColumns(): readonly Column<Route>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'prefix', header: t('prefix.label'), phone: 'title', cell: ({ prefix }) => <Prefix prefix={prefix} /> },
      { id: 'order', header: t('route.order'), cell: ({ order }) => <Order order={order} /> },
      { id: 'connection', header: t('connection.one'), cell: (route) => <Through route={route} /> },
      { id: 'priority', header: t('route.priority'), align: 'right', cell: ({ priority }) => <Num value={priority} /> },
      { id: 'weight', header: t('route.weight'), align: 'right', cell: ({ weight }) => <Num value={weight} /> },
      { id: 'only', header: t('route.only.label'), cell: (route) => <ConditionsText route={route} /> },
      { id: 'onUnknown', header: t('route.onUnknown'), cell: ({ onUnknown }) => t(`route.unknown.${onUnknown}`) },
    ],
    [t],
  );
}

/** The position of a route: the first takes the numbers, the others take over if it fails. */
function Order({ order }: Pick<Route, 'order'>) {
  const { t } = useTranslation('operator');
  return <span>{order === 1 ? t('route.first') : t('route.reserve', { order })}</span>;
}

function Through({
  route: { connection, connectionUp },
}: {
  readonly route: Pick<Route, 'connection' | 'connectionUp'>;
}) {
  const { t } = useTranslation('operator');
  return (
    <Group gap="xs" wrap="nowrap">
      <ConnectionLink name={connection} />
      {!connectionUp && <StatusBadge tone="warning">{t('route.isDown')}</StatusBadge>}
    </Group>
  );
}
