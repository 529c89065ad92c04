import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Section } from '../../ui/section.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { OPERATOR } from '../shared/need.ts';
import { PlainTable } from '../shared/plain-table.tsx';
import { Prefix } from '../shared/prefix.tsx';
import { DeleteIcon } from './delete-icon.tsx';
import { policiesQuery, type Policy } from './policy.ts';

const AddDialog = lazyPart(() => import('./add-dialog.tsx').then((file) => ({ default: file.AddDialog })));

/** Policies for the order of a prefix's routes, if it is not only by priority. */
export function Policies() {
  const { t } = useTranslation('operator');
  const [isAdding, setIsAdding] = useState(false);
  const { data, error } = useQuery(policiesQuery);
  return (
    <Section
      title={t('routePolicy.title')}
      description={t('routePolicy.hint')}
      actions={
        <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
          {t('routePolicy.add.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && <PolicyTable policies={data.data} />}
      <Suspense>{isAdding && <AddDialog onClose={() => setIsAdding(false)} />}</Suspense>
    </Section>
  );
}

function PolicyTable({ policies }: { readonly policies: readonly Policy[] }) {
  const { t } = useTranslation('operator');
  if (policies.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('routePolicy.none')}
      </Text>
    );
  return (
    <PlainTable
      label={t('routePolicy.title')}
      rows={policies}
      rowId={({ id }) => String(id)}
      columns={[
        { id: 'prefix', header: t('prefix.label'), cell: ({ prefix }) => <Prefix prefix={prefix} /> },
        { id: 'policy', header: t('routePolicy.policy'), cell: (policy) => <PolicyText policy={policy} /> },
        { id: 'delete', header: '', align: 'right', cell: (policy) => <DeleteIcon policy={policy} /> },
      ]}
    />
  );
}

function PolicyText({ policy: { policy, floor, explore } }: { readonly policy: Policy }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  if (policy === 'priority') return <span>{t('routePolicy.name.priority')}</span>;
  return (
    <span>{t('routePolicy.leastCost', { floor: format.percent(floor, 1), explore: format.percent(explore, 1) })}</span>
  );
}
