import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Section } from '../../ui/section.tsx';
import { OPERATOR } from '../shared/need.ts';
import { type PlainColumn, PlainTable } from '../shared/plain-table.tsx';
import { DeleteIcon } from './delete-icon.tsx';
import { PoolDialog } from './pool-dialog.tsx';
import { PoolNumbers } from './pool-numbers.tsx';
import { type NumberPool, POOLS, poolsQuery } from './sender-rule.ts';

/** The pools of numbers, of which each recipient gets messages from one. */
export function Pools() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(poolsQuery);
  const [isAdding, setIsAdding] = useState(false);
  const columns: readonly PlainColumn<NumberPool>[] = [
    { id: 'name', header: t('pool.sender'), cell: ({ name }) => `pool:${name}` },
    { id: 'account', header: t('account.word'), cell: ({ account }) => account ?? t('sender.everyAccount') },
    { id: 'numbers', header: t('pool.numbers'), cell: (pool) => <PoolNumbers pool={pool} /> },
    {
      id: 'delete',
      header: '',
      align: 'right',
      cell: ({ id, name }) => <DeleteIcon path={POOLS} id={id} of={`pool:${name}`} />,
    },
  ];
  return (
    <Section
      title={t('pool.title')}
      description={t('pool.description')}
      actions={
        <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
          {t('pool.add.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && <PlainTable label={t('pool.title')} columns={columns} rows={data.data} rowId={({ id }) => String(id)} />}
      {isAdding && <PoolDialog onClose={() => setIsAdding(false)} />}
    </Section>
  );
}
