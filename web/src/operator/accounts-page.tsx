import { Building2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { AddButton } from '../ui/actions.tsx';
import { DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { EmptyState, PageFrame } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { type Account, listAccounts, orderOf, PLANS, STATUSES, SwitchAccountIcon } from './account.tsx';
import { useAccountColumns } from './accounts-columns.tsx';
import { OPERATOR } from './shared.tsx';

const CreateDialog = lazyPart(() =>
  import('./accounts-create-dialog.tsx').then((file) => ({ default: file.CreateDialog })),
);

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
