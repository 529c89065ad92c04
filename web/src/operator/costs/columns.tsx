import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import type { Column } from '../../ui/table/data-table.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { Prefix } from '../shared/prefix.tsx';
import type { Cost } from './cost.ts';

export function useCostColumns(): readonly Column<Cost>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'prefix', header: t('prefix.label'), phone: 'title', cell: ({ prefix }) => <Prefix prefix={prefix} /> },
      { id: 'network', header: t('cost.network'), cell: ({ network }) => network ?? t('cost.anyNetwork') },
      {
        id: 'connection',
        header: t('connection.one'),
        cell: ({ connection }) => <ConnectionLink name={connection} />,
      },
      { id: 'price', header: t('cost.price'), align: 'right', cell: ({ price }) => <Price price={price} /> },
    ],
    [t],
  );
}

function Price({ price }: Pick<Cost, 'price'>) {
  const format = useFormat();
  const { currency } = useSession().account;
  return (
    <span className="tabular">
      {format.number(price, { style: 'currency', currency, minimumFractionDigits: 4, maximumFractionDigits: 6 })}
    </span>
  );
}
