import { Checkbox, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { SearchX } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ColumnChoice, useHiddenColumns } from '../../ui/table/column-choice.tsx';
import type { Column } from '../../ui/table/data-table.tsx';
import { useIsPhone } from '../../ui/use-is-phone.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { VirtualTable } from '../../ui/table/virtual-table.tsx';
import { BulkBar } from '../bulk/bar.tsx';
import { useContactColumns, usePhoneColumns } from './columns.tsx';
import { type Contact, type CustomField, fieldsQuery, listContacts } from '../contact.ts';
import { Filters } from './filters.tsx';
import { FIELDS, isFiltered, type Query, type Search, type SetSearch, toQuery } from '../search.ts';
import { countOf, EVERYBODY, isSelected, NOBODY, type Selection, toggled } from '../bulk/selection.ts';

type ContactsTableProps = {
  /** Shows the contacts of this list only. */
  readonly listId?: number;
  /** Shown instead of the table if there are no contacts at all. */
  readonly empty: ReactNode;
};

/**
 * The table of the contacts of the account or of one list, with filters, column choice, selection and in-place
 * editing.
 */
export function ContactsTable(props: ContactsTableProps) {
  const fields = useQuery(fieldsQuery);
  if (fields.error !== null && fields.data === undefined)
    return <ErrorState error={fields.error} onRetry={() => void fields.refetch()} />;
  if (fields.data === undefined) return <TableSkeleton />;
  return <WithFields {...props} fields={fields.data} />;
}

function WithFields({ listId, empty, fields }: ContactsTableProps & { readonly fields: readonly CustomField[] }) {
  const [search, setSearch] = useUrlState(FIELDS);
  const query = useMemo(() => toQuery(search, listId), [search, listId]);
  const [selection, setSelection] = useSelection(query);
  const total = useTotal(query);
  const columns = useContactColumns(fields);
  const choice = useHiddenColumns('contacts', columns);
  const isPhone = useIsPhone();
  const phoneColumns = usePhoneColumns();
  const shown = isPhone ? phoneColumns : columns.filter(({ id }) => !choice.hidden.has(id));
  const filtered = isFiltered(search);
  if (total === 0 && !filtered) return empty;
  return (
    <Stack gap="sm">
      <Filters search={search} onSearch={setSearch} hasLists={listId === undefined} />
      <Group justify="space-between" mih={36} gap="sm">
        <BulkBar
          target={{ selection, query, count: countOf(selection, total ?? 0), isWhole: selection.all && !filtered }}
          total={total}
          listId={listId}
          onDone={() => setSelection(NOBODY)}
        />
        {!isPhone && <ColumnChoice columns={columns} {...choice} />}
      </Group>
      <Rows
        search={search}
        setSearch={setSearch}
        query={query}
        columns={shown}
        selection={selection}
        setSelection={setSelection}
        total={total ?? 0}
        isPhone={isPhone}
        isOfList={listId !== undefined}
      />
    </Stack>
  );
}

/** The selection, which is reset when the filters change, but not when the order changes. */
function useSelection(query: Query) {
  const key = JSON.stringify({ ...query, sortBy: undefined, sortOrder: undefined });
  const [chosen, setChosen] = useState({ key, selection: NOBODY });
  const set = (selection: Selection): void => setChosen({ key, selection });
  return [chosen.key === key ? chosen.selection : NOBODY, set] as const;
}

const keyOf = (query: Query) => ['contacts', 'list', query];
/** The first page as VirtualTable requests it; its response contains the total. */
const FIRST = { page: 0, limit: 100 };

const useTotal = (query: Query): number | undefined =>
  useQuery({
    queryKey: [...keyOf(query), FIRST.page],
    queryFn: ({ signal }) => listContacts({ ...query, ...FIRST }, signal),
  }).data?.total;

type RowsProps = {
  readonly search: Search;
  readonly setSearch: SetSearch;
  readonly query: Query;
  readonly columns: readonly Column<Contact>[];
  readonly selection: Selection;
  readonly setSelection: (selection: Selection) => void;
  readonly total: number;
  readonly isPhone: boolean;
  readonly isOfList: boolean;
};

/** Row heights in pixels; rows have two lines on a phone. */
const ROW_HEIGHTS = { phone: 60, desktop: 44 };
/**
 * The height of the pane: the window minus the parts of the page above and below it. On a phone it fills the screen
 * once scrolled to.
 */
const HEIGHTS = { all: 'calc(100dvh - 292px)', list: 'calc(100dvh - 352px)', phone: 'calc(100dvh - 140px)' };

function Rows({ search, setSearch, query, columns, selection, setSelection, total, isPhone, isOfList }: RowsProps) {
  const { t } = useTranslation('contacts');
  const chosen = countOf(selection, total);
  return (
    <VirtualTable<Contact>
      label={t('title')}
      columns={columns}
      queryKey={keyOf(query)}
      fetchPage={(page, signal) => listContacts({ ...query, ...page }, signal)}
      rowId={({ id }) => String(id)}
      height={HEIGHTS[isPhone ? 'phone' : isOfList ? 'list' : 'all']}
      rowHeight={isPhone ? ROW_HEIGHTS.phone : ROW_HEIGHTS.desktop}
      sort={search.sort}
      onSort={(sort) => setSearch({ sort })}
      isSelected={({ id }) => isSelected(selection, id)}
      leadHead={
        <Checkbox
          aria-label={t('select.all')}
          checked={selection.all && chosen === total}
          indeterminate={chosen > 0 && chosen < total}
          onChange={() => setSelection(chosen > 0 ? NOBODY : EVERYBODY)}
        />
      }
      lead={({ id, name }) => (
        <Checkbox
          aria-label={t('select.one', { name })}
          checked={isSelected(selection, id)}
          onChange={() => setSelection(toggled(selection, id))}
        />
      )}
      empty={<EmptyState icon={SearchX} title={t('noMatch.title')} text={t('noMatch.text')} />}
    />
  );
}
