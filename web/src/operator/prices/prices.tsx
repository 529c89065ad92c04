import { Group } from '@mantine/core';
import { Tags } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../../ui/filter-bar.tsx';
import { choice, listFields, text, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { CHANNELS } from '../accounts/account.ts';
import { OPERATOR } from '../shared/need.ts';
import { usePriceColumns } from './columns.tsx';
import { DeleteIcon } from './delete-icon.tsx';
import { PriceCheck } from './price-check.tsx';
import { listPrices, type Price } from './price.ts';

const AddDialog = lazyPart(() => import('./add-dialog.tsx').then((file) => ({ default: file.AddDialog })));

const FIELDS = { ...listFields(), channel: choice(CHANNELS), prefix: text() };

/** The selling prices of messages. */
export function Prices() {
  const { t } = useTranslation('operator');
  const [isAdding, setIsAdding] = useState(false);
  const add = (
    <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
      {t('price.add.open')}
    </AddButton>
  );
  return (
    <>
      <Group justify="flex-end" mb="md">
        {add}
      </Group>
      <PriceTable add={add} />
      <PriceCheck />
      <Suspense>{isAdding && <AddDialog onClose={() => setIsAdding(false)} />}</Suspense>
    </>
  );
}

function PriceTable({ add }: { readonly add: React.ReactNode }) {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = usePriceColumns();
  const { page, limit, channel } = search;
  const prefix = search.prefix.replaceAll(/\D/g, '');
  const query = useListQuery(['operator', 'prices', 'list', search], (signal) =>
    listPrices({ page, limit, ...(channel && { channel }), ...(prefix && { prefix }) }, signal),
  );
  return (
    <>
      <FilterBar isFiltered={channel !== '' || prefix !== ''} onClear={() => setSearch({ channel: '', prefix: '' })}>
        <SearchField label={t('price.search')} value={search.prefix} onChange={(next) => setSearch({ prefix: next })} />
        <ChoiceFilter
          label={t('anyChannel')}
          options={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
          value={channel}
          onChange={(next) => setSearch({ channel: next })}
        />
      </FilterBar>
      <DataTable<Price>
        id="operator-prices"
        label={t('price.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(price) => <DeleteIcon price={price} />}
        empty={
          <EmptyState
            icon={Tags}
            title={t('price.none.title')}
            text={t('price.none.text')}
            help="operating#accounts-credit-and-prices"
          >
            {add}
          </EmptyState>
        }
      />
    </>
  );
}
