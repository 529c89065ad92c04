import { Button, Group } from '@mantine/core';
import { HandCoins } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { FilterBar, SearchField } from '../../ui/filter-bar.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { listFields, text, useUrlState } from '../../ui/url-state.ts';
import { ConnectionFilter } from '../connections/connection-choice.tsx';
import { OPERATOR } from '../shared/need.ts';
import { useCostColumns } from './columns.tsx';
import { type Cost, listCosts } from './cost.ts';
import { DeleteIcon } from './delete-icon.tsx';

const AddDialog = lazyPart(() => import('./add-dialog.tsx').then((file) => ({ default: file.AddDialog })));
const ImportDialog = lazyPart(() => import('./import-dialog.tsx').then((file) => ({ default: file.ImportDialog })));

const FIELDS = { ...listFields(), connection: text(), prefix: text() };

/** Charges of carriers next to the selling prices. */
export function Costs() {
  const { t } = useTranslation('operator');
  const [open, setOpen] = useState<'add' | 'import' | null>(null);
  const close = (): void => setOpen(null);
  const actions = (
    <Group gap="xs">
      <Button variant="default" onClick={() => setOpen('import')}>
        {t('cost.import.open')}
      </Button>
      <AddButton need={OPERATOR} onClick={() => setOpen('add')}>
        {t('cost.add.open')}
      </AddButton>
    </Group>
  );
  return (
    <>
      <Group justify="flex-end" mb="md">
        {actions}
      </Group>
      <CostTable />
      <Suspense>
        {open === 'add' && <AddDialog onClose={close} />}
        {open === 'import' && <ImportDialog onClose={close} />}
      </Suspense>
    </>
  );
}

function CostTable() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useCostColumns();
  const { page, limit, connection } = search;
  const prefix = search.prefix.replaceAll(/\D/g, '');
  const query = useListQuery(['operator', 'costs', 'list', search], (signal) =>
    listCosts({ page, limit, ...(connection && { connection }), ...(prefix && { prefix }) }, signal),
  );
  return (
    <>
      <FilterBar
        isFiltered={connection !== '' || prefix !== ''}
        onClear={() => setSearch({ connection: '', prefix: '' })}
      >
        <SearchField label={t('price.search')} value={search.prefix} onChange={(next) => setSearch({ prefix: next })} />
        <ConnectionFilter value={connection} onChange={(next) => setSearch({ connection: next })} />
      </FilterBar>
      <DataTable<Cost>
        id="operator-costs"
        label={t('cost.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(cost) => <DeleteIcon cost={cost} />}
        empty={<EmptyState icon={HandCoins} title={t('cost.none.title')} text={t('cost.none.text')} />}
      />
    </>
  );
}
