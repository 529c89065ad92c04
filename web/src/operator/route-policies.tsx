import { NumberInput, Radio, Stack } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon } from '../ui/actions.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Muted, Section } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { digitsOf, OPERATOR, Prefix, PrefixInput } from './shared.tsx';

const POLICIES = '/api/operator/v1/route-policies';

const policiesQuery = queryOptions({
  queryKey: ['operator', 'route-policies'],
  queryFn: ({ signal }) => ok(api.GET(POLICIES, { signal })),
});
type Policy = Awaited<ReturnType<NonNullable<typeof policiesQuery.queryFn>>>['data'][number];

const POLICY_KEYS = [
  ['operator', 'route-policies'],
  ['operator', 'routes'],
] as const;

/** Policies for the order of a prefix's routes, if it is not only by priority. */
export function Policies() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(policiesQuery);
  return (
    <Section
      title={t('routePolicy.title')}
      description={t('routePolicy.hint')}
      actions={
        <AddButton need={OPERATOR} onClick={() => openDialog(<AddDialog />)}>
          {t('routePolicy.add.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && <PolicyTable policies={data.data} />}
    </Section>
  );
}

/** The shares are in percent. */
type NewPolicy = {
  readonly prefix: string;
  readonly policy: Policy['policy'];
  readonly floor: number | string;
  readonly explore: number | string;
};

const toBody = ({ prefix, policy, floor, explore }: NewPolicy) => ({
  channel: 'SMS' as const,
  prefix: digitsOf(prefix),
  policy,
  ...(floor !== '' && { floor: Number(floor) / 100 }),
  ...(explore !== '' && { explore: Number(explore) / 100 }),
});

const PERCENT = { min: 0, decimalScale: 1, suffix: ' %', hideControls: true };

/** Dialog that sets how the routes of a prefix are ordered; an existing policy is replaced. */
function AddDialog() {
  const { t } = useTranslation('operator');
  return (
    <FormDialog<NewPolicy, unknown>
      title={t('routePolicy.add.title')}
      size="md"
      values={{ prefix: '', policy: 'least-cost', floor: 80, explore: 5 }}
      run={(values) => ok(api.POST(POLICIES, { body: toBody(values) }))}
      refresh={POLICY_KEYS}
      done={t('routePolicy.add.done')}
      action={t('routePolicy.add.submit')}
    >
      {(form) => (
        <>
          <PrefixInput data-autofocus {...form.getInputProps('prefix')} />
          <Radio.Group label={t('routePolicy.policy')} {...form.getInputProps('policy')}>
            <Stack gap="xs" mt="xs">
              <Radio value="least-cost" label={t('routePolicy.name.leastCost')} />
              <Radio value="priority" label={t('routePolicy.name.priority')} />
            </Stack>
          </Radio.Group>
          {form.values.policy === 'least-cost' && (
            <>
              <NumberInput
                label={t('routePolicy.floor')}
                description={t('routePolicy.add.floorHint')}
                max={100}
                {...PERCENT}
                {...form.getInputProps('floor')}
              />
              <NumberInput
                label={t('routePolicy.explore')}
                description={t('routePolicy.add.exploreHint')}
                max={50}
                {...PERCENT}
                {...form.getInputProps('explore')}
              />
            </>
          )}
        </>
      )}
    </FormDialog>
  );
}

function PolicyTable({ policies }: { readonly policies: readonly Policy[] }) {
  const { t } = useTranslation('operator');
  if (policies.length === 0) return <Muted>{t('routePolicy.none')}</Muted>;
  return (
    <SmallTable
      label={t('routePolicy.title')}
      rows={policies}
      rowId={({ id }) => String(id)}
      columns={[
        { id: 'prefix', header: t('prefix.label'), cell: ({ prefix }) => <Prefix prefix={prefix} /> },
        { id: 'policy', header: t('routePolicy.policy'), cell: (policy) => <PolicyText policy={policy} /> },
        { id: 'delete', header: '', align: 'right', cell: (policy) => <DeletePolicy policy={policy} /> },
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

function DeletePolicy({ policy: { id, prefix } }: { readonly policy: Policy }) {
  const { t } = useTranslation('operator');
  const of = { prefix: prefix === '' ? t('prefix.all') : `+${prefix}` };
  return (
    <DeleteIcon
      need={OPERATOR}
      label={t('routePolicy.delete.label', of)}
      question={{
        ...questionTexts(t, 'routePolicy.delete', of),
        run: () => ok(api.DELETE(`${POLICIES}/{id}`, { params: { path: { id } } })),
        refresh: POLICY_KEYS,
      }}
    />
  );
}
