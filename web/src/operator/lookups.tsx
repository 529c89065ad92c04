import { Alert, Checkbox, Group, NumberInput, PasswordInput, Select, TextInput } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { FlaskConical } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { AddButton, DeleteIcon, GuardedIcon } from '../ui/actions.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Muted, Section } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { OPERATOR } from './shared.tsx';

const LOOKUPS = '/api/operator/v1/lookups';
const LOOKUP_KEYS = [['operator', 'lookups']] as const;

const lookupsQuery = queryOptions({
  queryKey: LOOKUP_KEYS[0],
  queryFn: ({ signal }) => ok(api.GET(LOOKUPS, { signal })),
});
type Lookup = Awaited<ReturnType<NonNullable<typeof lookupsQuery.queryFn>>>['data'][number];

/** The number-lookup services, with their work of the last 30 days. */
export function Lookups() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(lookupsQuery);
  return (
    <Section
      title={t('lookup.title')}
      description={t('lookup.hint')}
      actions={
        <AddButton need={OPERATOR} onClick={() => openDialog(<AddDialog presets={data?.presets ?? []} />)}>
          {t('lookup.add.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && <LookupTable lookups={data.data} />}
    </Section>
  );
}

type NewLookup = {
  readonly preset: string;
  readonly name: string;
  readonly account: string;
  readonly apiKey: string;
  readonly price: number | string;
  readonly margins: boolean;
};

const bodyOf = ({ preset, name, account, apiKey, price, margins }: NewLookup) => ({
  name,
  apiKey,
  settings: { preset, ...(account && { account }), ...(price !== '' && { price: Number(price) }), margins },
});

/** Dialog that adds one of the services whose protocol is known; others are added by the command. */
function AddDialog({ presets }: { readonly presets: readonly string[] }) {
  const { t } = useTranslation('operator');
  const { currency } = useSession().account;
  return (
    <FormDialog<NewLookup, unknown>
      title={t('lookup.add.title')}
      size="md"
      values={{ preset: presets[0] ?? '', name: '', account: '', apiKey: '', price: '', margins: false }}
      run={(values) => ok(api.POST(LOOKUPS, { body: bodyOf(values) }))}
      refresh={LOOKUP_KEYS}
      done={t('lookup.add.done')}
      action={t('lookup.add.submit')}
    >
      {(form) => (
        <>
          <Select
            label={t('lookup.add.preset')}
            description={t('lookup.add.presetHint')}
            data={[...presets]}
            allowDeselect={false}
            {...form.getInputProps('preset')}
          />
          <TextInput data-autofocus label={t('lookup.name')} maxLength={63} {...form.getInputProps('name')} />
          <TextInput
            label={t('lookup.add.account')}
            description={t('lookup.add.accountHint')}
            {...form.getInputProps('account')}
          />
          <PasswordInput label={t('lookup.add.apiKey')} autoComplete="off" {...form.getInputProps('apiKey')} />
          <NumberInput
            label={t('lookup.add.price', { currency })}
            min={0}
            decimalScale={6}
            hideControls
            {...form.getInputProps('price')}
          />
          <Checkbox
            label={t('lookup.add.margins')}
            description={t('lookup.add.marginsHint')}
            {...form.getInputProps('margins', { type: 'checkbox' })}
          />
        </>
      )}
    </FormDialog>
  );
}

function LookupTable({ lookups }: { readonly lookups: readonly Lookup[] }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { currency } = useSession().account;
  if (lookups.length === 0) return <Muted>{t('lookup.none')}</Muted>;
  return (
    <SmallTable
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
              <GuardedIcon
                need={OPERATOR}
                label={t('lookup.test.label', { name })}
                onClick={() => openDialog(<TestDialog name={name} />)}
              >
                <FlaskConical size={16} />
              </GuardedIcon>
              <DeleteIcon
                need={OPERATOR}
                label={t('lookup.delete.label', { name })}
                question={{
                  ...questionTexts(t, 'lookup.delete', { name }),
                  run: () => ok(api.DELETE(`${LOOKUPS}/{name}`, { params: { path: { name } } })),
                  refresh: LOOKUP_KEYS,
                }}
              />
            </Group>
          ),
        },
      ]}
    />
  );
}

const ask = (name: string, phoneNumber: string) =>
  ok(api.POST(`${LOOKUPS}/{name}/test`, { params: { path: { name } }, body: { phoneNumber } }));
type Answer = Awaited<ReturnType<typeof ask>>;

/** Dialog that asks a service for the network of a number. */
function TestDialog({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  return (
    <FormDialog
      title={t('lookup.test.label', { name })}
      size="md"
      values={{ phoneNumber: '' }}
      run={({ phoneNumber }) => ask(name, phoneNumber)}
      stays
      action={t('lookup.test.submit')}
    >
      {(form, { output }) => (
        <>
          <TextInput
            data-autofocus
            type="tel"
            label={t('lookup.test.number')}
            description={t('lookup.test.numberHint')}
            {...form.getInputProps('phoneNumber')}
          />
          {output && <Result answer={output} />}
        </>
      )}
    </FormDialog>
  );
}

function Result({ answer: { ok: isGood, network, reason } }: { readonly answer: Answer }) {
  const { t } = useTranslation('operator');
  const known = network === null ? t('lookup.test.unknown') : t('lookup.test.network', { network });
  return (
    <Alert role="status" color={isGood ? 'green' : 'red'} title={isGood ? known : t('lookup.test.failed')}>
      {reason}
    </Alert>
  );
}
