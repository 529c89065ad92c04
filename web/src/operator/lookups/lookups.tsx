import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { useSession } from '../../api/session.ts';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Section } from '../../ui/section.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { OPERATOR } from '../shared/need.ts';
import { PlainTable } from '../shared/plain-table.tsx';
import { DeleteIcon } from './delete-icon.tsx';
import { type Lookup, lookupsQuery } from './lookup.ts';
import { TestIcon } from './test-icon.tsx';

const AddDialog = lazyPart(() => import('./add-dialog.tsx').then((file) => ({ default: file.AddDialog })));

/** The number-lookup services, with their work of the last 30 days. */
export function Lookups() {
  const { t } = useTranslation('operator');
  const [isAdding, setIsAdding] = useState(false);
  const { data, error } = useQuery(lookupsQuery);
  return (
    <Section
      title={t('lookup.title')}
      description={t('lookup.hint')}
      actions={
        <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
          {t('lookup.add.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && <LookupTable lookups={data.data} />}
      <Suspense>{isAdding && <AddDialog presets={data?.presets ?? []} onClose={() => setIsAdding(false)} />}</Suspense>
    </Section>
  );
}

function LookupTable({ lookups }: { readonly lookups: readonly Lookup[] }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { currency } = useSession().account;
  if (lookups.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('lookup.none')}
      </Text>
    );
  return (
    <PlainTable
      label={t('lookup.title')}
      rows={lookups}
      rowId={({ name }) => name}
      columns={[
        { id: 'name', header: t('lookup.name'), cell: ({ name }) => name },
        { id: 'answered', header: t('lookup.answered'), align: 'right', cell: (row) => format.number(row.answered) },
        { id: 'failed', header: t('lookup.failed'), align: 'right', cell: (row) => format.number(row.failed) },
        {
          id: 'cost',
          header: t('lookup.cost'),
          align: 'right',
          cell: ({ cost }) => format.number(cost, { style: 'currency', currency }),
        },
        {
          id: 'actions',
          header: '',
          align: 'right',
          cell: ({ name }) => (
            <Group gap={4} justify="flex-end" wrap="nowrap">
              <TestIcon name={name} />
              <DeleteIcon name={name} />
            </Group>
          ),
        },
      ]}
    />
  );
}
