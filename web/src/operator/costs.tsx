import { Button, Checkbox, FileInput, Group, NumberInput, TextInput } from '@mantine/core';
import { HandCoins } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { AddButton, DeleteIcon } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState } from '../ui/parts.tsx';
import { listFields, text, useUrlState } from '../ui/url-state.ts';
import { ConnectionChoice, ConnectionFilter } from './connection-choice.tsx';
import { ConnectionLink, digitsOf, OPERATOR, Prefix, PrefixInput } from './shared.tsx';

const COSTS = '/api/operator/v1/costs';
const COST_KEYS = [['operator', 'costs']] as const;

type Listed = {
  readonly page: number;
  readonly limit: number;
  readonly connection?: string;
  readonly prefix?: string;
};
const listCosts = (query: Listed, signal: AbortSignal) => ok(api.GET(COSTS, { params: { query }, signal }));
type Cost = Awaited<ReturnType<typeof listCosts>>['data'][number];

const FIELDS = { ...listFields(), connection: text(), prefix: text() };

/** Charges of carriers next to the selling prices. */
export function Costs() {
  const { t } = useTranslation('operator');
  return (
    <>
      <Group justify="flex-end" gap="xs" mb="md">
        <Button variant="default" onClick={() => openDialog(<ImportDialog />)}>
          {t('cost.import.open')}
        </Button>
        <AddButton need={OPERATOR} onClick={() => openDialog(<AddDialog />)}>
          {t('cost.add.open')}
        </AddButton>
      </Group>
      <CostTable />
    </>
  );
}

/** Dialog that sets a charge of the carrier of a connection; an existing cost is replaced. */
function AddDialog() {
  const { t } = useTranslation('operator');
  const { currency } = useSession().account;
  return (
    <FormDialog
      title={t('cost.add.title')}
      size="md"
      values={{ connection: '', prefix: '', network: '', price: '' }}
      validate={{
        connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
        price: (price) => (price === '' ? t('price.add.priceMissing') : null),
      }}
      run={({ connection, prefix, network, price }) =>
        ok(
          api.PUT(COSTS, {
            body: { connection, prefix: digitsOf(prefix), ...(network && { network }), price: Number(price) },
          }),
        )
      }
      refresh={COST_KEYS}
      done={t('cost.add.done')}
      action={t('cost.add.submit')}
    >
      {(form) => (
        <>
          <ConnectionChoice {...form.getInputProps('connection')} />
          <PrefixInput {...form.getInputProps('prefix')} />
          <TextInput
            label={t('cost.network')}
            description={t('cost.add.networkHint')}
            inputMode="numeric"
            maxLength={6}
            {...form.getInputProps('network')}
          />
          <NumberInput
            label={t('cost.add.price', { currency })}
            min={0}
            decimalScale={6}
            hideControls
            {...form.getInputProps('price')}
          />
        </>
      )}
    </FormDialog>
  );
}

type CostFile = { readonly connection: string; readonly file: File | null; readonly replace: boolean };

/** Dialog that reads the charges of a connection from a CSV file. */
function ImportDialog() {
  const { t } = useTranslation('operator');
  return (
    <FormDialog<CostFile, unknown>
      title={t('cost.import.title')}
      size="md"
      values={{ connection: '', file: null, replace: false }}
      validate={{
        connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
        file: (file) => (file === null ? t('cost.import.fileMissing') : null),
      }}
      run={async ({ connection, file, replace }) => {
        const csv = (await file?.text()) ?? '';
        return ok(api.POST(`${COSTS}/import`, { body: { connection, csv, replace } }));
      }}
      refresh={COST_KEYS}
      done={t('cost.import.done')}
      action={t('cost.import.submit')}
    >
      {(form) => (
        <>
          <ConnectionChoice {...form.getInputProps('connection')} />
          <FileInput
            label={t('cost.import.file')}
            description={t('cost.import.fileHint')}
            accept=".csv,.txt,text/csv"
            {...form.getInputProps('file')}
          />
          <Checkbox
            label={t('cost.import.replace')}
            description={t('cost.import.replaceHint')}
            {...form.getInputProps('replace', { type: 'checkbox' })}
          />
        </>
      )}
    </FormDialog>
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
        actions={(cost) => <DeleteCost cost={cost} />}
        empty={<EmptyState icon={HandCoins} title={t('cost.none.title')} text={t('cost.none.text')} />}
      />
    </>
  );
}

function DeleteCost({ cost: { id, connection, prefix, network } }: { readonly cost: Cost }) {
  const { t } = useTranslation('operator');
  const numbers = prefix === '' ? t('prefix.all') : `+${prefix}`;
  const of = { prefix: network === null ? numbers : `${numbers} (${network})`, connection };
  return (
    <DeleteIcon
      need={OPERATOR}
      label={t('cost.delete.label', of)}
      question={{
        ...questionTexts(t, 'cost.delete', of),
        run: () => ok(api.DELETE(`${COSTS}/{id}`, { params: { path: { id } } })),
        refresh: COST_KEYS,
      }}
    />
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
