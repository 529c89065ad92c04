import { Building2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { AddButton, SecretOnce } from '../ui/actions.tsx';
import { DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { ButtonLink, EmptyState, PageFrame } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import {
  type Account,
  ACCOUNT_KEYS,
  ACCOUNTS,
  CHANNELS,
  listAccounts,
  orderOf,
  PLANS,
  STATUSES,
  SwitchAccountIcon,
} from './account.tsx';
import { useAccountColumns } from './accounts-columns.tsx';
import { OPERATOR } from './shared.tsx';
import { Checkbox, Group, NumberInput, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { api, ok } from '../api/send.ts';
import { FormDialog } from '../ui/form-dialog.tsx';

const FIELDS = { ...listFields('name'), search: text(), status: choice(STATUSES), plan: choice(PLANS) };

/** The page of all accounts of the installation. */
export function Page() {
  const { t } = useTranslation('operator');
  const create = (
    <AddButton need={OPERATOR} onClick={() => openDialog(<CreateDialog />)}>
      {t('account.create.open')}
    </AddButton>
  );
  return (
    <PageFrame title={t('account.title')} description={t('account.description')} actions={create}>
      <AccountTable />
    </PageFrame>
  );
}

function AccountTable() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useAccountColumns();
  const { page, limit, sort, status, plan } = search;
  const query = useListQuery(['operator', 'accounts', 'list', search], (signal) =>
    listAccounts(
      {
        page,
        limit,
        ...orderOf(sort),
        ...(search.search && { search: search.search }),
        ...(status && { status }),
        ...(plan && { plan }),
      },
      signal,
    ),
  );
  return (
    <>
      <Filters search={search} setSearch={setSearch} />
      <DataTable<Account>
        id="operator-accounts"
        label={t('account.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(account) => <SwitchAccountIcon account={account} />}
        empty={<EmptyState icon={Building2} title={t('account.none.title')} text={t('account.none.text')} />}
      />
    </>
  );
}

type FiltersProps = {
  readonly search: ReturnType<typeof useUrlState<typeof FIELDS>>[0];
  readonly setSearch: ReturnType<typeof useUrlState<typeof FIELDS>>[1];
};

function Filters({ search, setSearch }: FiltersProps) {
  const { t } = useTranslation('operator');
  const isFiltered = search.search !== '' || search.status !== '' || search.plan !== '';
  return (
    <FilterBar isFiltered={isFiltered} onClear={() => setSearch({ search: '', status: '', plan: '' })}>
      <SearchField label={t('account.search')} value={search.search} onChange={(next) => setSearch({ search: next })} />
      <ChoiceFilter
        label={t('account.anyStatus')}
        options={STATUSES.map((value) => ({ value, label: t(`account.status.${value}`) }))}
        value={search.status}
        onChange={(status) => setSearch({ status })}
      />
      <ChoiceFilter
        label={t('account.anyPlan')}
        options={PLANS.map((value) => ({ value, label: t(`app:plan.${value}`) }))}
        value={search.plan}
        onChange={(plan) => setSearch({ plan })}
      />
    </FilterBar>
  );
}

type NewAccount = {
  readonly name: string;
  readonly plan: (typeof PLANS)[number];
  readonly credit: number | string;
  readonly channels: (typeof CHANNELS)[number][];
};

const create = ({ credit, ...rest }: NewAccount) =>
  ok(api.POST(ACCOUNTS, { body: { ...rest, ...(credit !== '' && { credit: Number(credit) }) } }));

/** Dialog that creates an account with its owner and first API key, whose secrets are shown once. */
function CreateDialog() {
  const { t } = useTranslation('operator');
  return (
    <FormDialog<NewAccount, Awaited<ReturnType<typeof create>>>
      title={t('account.create.title')}
      values={{ name: '', plan: 'production', credit: '', channels: [...CHANNELS] }}
      validate={{ name: (name) => (name.trim() === '' ? t('account.create.nameMissing') : null) }}
      run={create}
      refresh={ACCOUNT_KEYS}
      action={t('account.create.submit')}
      result={({ accountId, name, username, password, apiKey }) => (
        <>
          <Text size="sm">{t('account.create.made', { name, username })}</Text>
          <SecretOnce
            label={t('account.create.password')}
            secret={password}
            note={t('account.create.passwordNote', { username })}
          />
          <SecretOnce label={t('account.create.apiKey')} secret={apiKey} note={t('account.create.apiKeyNote')} />
          <ButtonLink to={`/operator/accounts/${accountId}`} variant="default" w="fit-content">
            {t('account.create.see')}
          </ButtonLink>
        </>
      )}
      finish={t('copiedIt')}
    >
      {(form) => (
        <>
          <TextInput label={t('account.name')} maxLength={200} data-autofocus {...form.getInputProps('name')} />
          <Stack gap={4}>
            <Text size="sm" fw={500} id="new-account-plan">
              {t('account.plan')}
            </Text>
            <SegmentedControl
              aria-labelledby="new-account-plan"
              data={PLANS.map((value) => ({ value, label: t(`app:plan.${value}`) }))}
              {...form.getInputProps('plan')}
            />
            <Text size="xs" c="dimmed">
              {t(`account.planHint.${form.values.plan}`)}
            </Text>
          </Stack>
          <NumberInput
            label={t('account.create.credit')}
            description={t('account.create.creditHint')}
            min={0}
            decimalScale={6}
            hideControls
            {...form.getInputProps('credit')}
          />
          <Checkbox.Group label={t('account.channels')} {...form.getInputProps('channels')}>
            <Group mt="xs">
              {CHANNELS.map((channel) => (
                <Checkbox key={channel} value={channel} label={t(`ui:channel.${channel}`)} />
              ))}
            </Group>
          </Checkbox.Group>
        </>
      )}
    </FormDialog>
  );
}
