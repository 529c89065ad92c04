import { Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Section } from '../ui/parts.tsx';
import { POLICIES, POLICY_KEYS, type Policy, policiesQuery } from './route-policies-policy.ts';
import { OPERATOR, PlainTable, Prefix } from './shared.tsx';

const AddDialog = lazyPart(() =>
  import('./route-policies-add-dialog.tsx').then((file) => ({ default: file.AddDialog })),
);

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

function DeleteIcon({ policy: { id, prefix } }: { readonly policy: Policy }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const of = { prefix: prefix === '' ? t('prefix.all') : `+${prefix}` };
  const remove = useAction({
    run: () => ok(api.DELETE(`${POLICIES}/{id}`, { params: { path: { id } } })),
    refresh: POLICY_KEYS,
    done: t('routePolicy.delete.done', of),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('routePolicy.delete.label', of)} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('routePolicy.delete.title', of)}
        action={t('routePolicy.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('routePolicy.delete.text')}
      </ConfirmDialog>
    </>
  );
}
