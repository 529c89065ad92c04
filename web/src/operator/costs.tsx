import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { HandCoins, Trash2 } from 'lucide-react';
import { Suspense, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState } from '../ui/parts.tsx';
import { listFields, text, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/use-list-query.ts';
import { ConnectionFilter } from './connection-choice.tsx';
import { COST_KEYS, COSTS, type Cost, listCosts } from './cost.ts';
import { ConnectionLink, OPERATOR, Prefix } from './shared.tsx';

const AddDialog = lazyPart(() => import('./costs-add-dialog.tsx').then((file) => ({ default: file.AddDialog })));
const ImportDialog = lazyPart(() =>
  import('./costs-import-dialog.tsx').then((file) => ({ default: file.ImportDialog })),
);

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

function DeleteIcon({ cost: { id, connection, prefix, network } }: { readonly cost: Cost }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const numbers = prefix === '' ? t('prefix.all') : `+${prefix}`;
  const of = { prefix: network === null ? numbers : `${numbers} (${network})`, connection };
  const remove = useAction({
    run: () => ok(api.DELETE(`${COSTS}/{id}`, { params: { path: { id } } })),
    refresh: COST_KEYS,
    done: t('cost.delete.done', of),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('cost.delete.label', of)} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('cost.delete.title', of)}
        action={t('cost.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('cost.delete.text')}
      </ConfirmDialog>
    </>
  );
}

function useCostColumns(): readonly Column<Cost>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'prefix', header: t('prefix.label'), phone: 'title', cell: ({ prefix }) => <Prefix prefix={prefix} /> },
      { id: 'network', header: t('cost.network'), cell: ({ network }) => network ?? t('cost.anyNetwork') },
      {
        id: 'connection',
        header: t('connection.one'),
        cell: ({ connection }) => <ConnectionLink name={connection} />,
      },
      { id: 'price', header: t('cost.price'), align: 'right', cell: ({ price }) => <Price price={price} /> },
    ],
    [t],
  );
}

function Price({ price }: Pick<Cost, 'price'>) {
  const format = useFormat();
  const { currency } = useSession().account;
  return (
    <span className="tabular">
      {format.number(price, { style: 'currency', currency, minimumFractionDigits: 4, maximumFractionDigits: 6 })}
    </span>
  );
}
