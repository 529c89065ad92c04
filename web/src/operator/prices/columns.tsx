import { Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../../ui/table/data-table.tsx';
import { ChannelBadge } from '../../ui/values/statuses.tsx';
import { Prefix } from '../shared/prefix.tsx';
import { PriceCell } from './price-cell.tsx';
import type { Price } from './price.ts';
import { RefundSwitch } from './refund-switch.tsx';

export function usePriceColumns(): readonly Column<Price>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'prefix', header: t('prefix.label'), phone: 'title', cell: ({ prefix }) => <Prefix prefix={prefix} /> },
      { id: 'channel', header: t('channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      { id: 'price', header: t('price.price'), align: 'right', cell: (price) => <PriceCell price={price} /> },
      { id: 'per', header: t('price.per'), phone: 'none', cell: ({ channel }) => <Per channel={channel} /> },
      { id: 'refund', header: t('price.refund'), cell: (price) => <RefundSwitch price={price} /> },
    ],
    [t],
  );
}

function Per({ channel }: Pick<Price, 'channel'>) {
  const { t } = useTranslation('operator');
  return (
    <Text size="sm" c="dimmed">
      {t(channel === 'SMS' ? 'price.perPart' : 'price.perMessage')}
    </Text>
  );
}
