import { Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ChevronDown, Download, ListMinus, ListPlus, SearchX, SlidersHorizontal, Trash2, X } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import type { Need } from '../api/session.ts';
import { ActionsMenu, GuardedButton, GuardedIcon, useDisabledReason } from '../ui/actions.tsx';
import { type Column, ColumnChoice, useHiddenColumns } from '../ui/data-table.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { ListSelect } from '../ui/list-select.tsx';
import { EmptyState, ErrorState, OnDemand, TableSkeleton, useIsPhone } from '../ui/parts.tsx';
import { useUrlState } from '../ui/url-state.ts';
import { VirtualTable } from '../ui/virtual-table.tsx';
import { countOf, EVERYBODY, isSelected, NOBODY, type Selection, type Target, toggled } from './bulk.tsx';
import type { BulkAction } from './bulk-dialogs.tsx';
import {
  type Contact,
  type CustomField,
  FIELDS,
  fieldsQuery,
  isFiltered,
  listContacts,
  NEED,
  NO_FILTERS,
  type Query,
  type Search,
  type SetSearch,
  toQuery,
  useNamedChannels,
} from './contact.ts';
import { useContactColumns, usePhoneColumns } from './listing-columns.tsx';

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

type BulkBarProps = {
  readonly target: Target;
  /** The number of matching contacts; undefined while unknown. */
  readonly total: number | undefined;
  readonly listId: number | undefined;
  readonly onDone: () => void;
};

const BulkDialog = lazyPart(() => import('./bulk-dialogs.tsx').then((file) => ({ default: file.BulkDialog })));

const ACTIONS = [
  ['add', ListPlus],
  ['remove', ListMinus],
  ['export', Download],
  ['delete', Trash2],
] as const;
const EXPORT: Need = { scope: 'exports', write: true };

/** The number of contacts or, while some are selected, the actions on them. */
function BulkBar({ target, total, listId, onDone }: BulkBarProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { count } = target;
  if (count === 0)
    return (
      <Text size="sm" c="dimmed" role="status" className="tabular">
        {total !== undefined && t('count', { count: total, shown: format.number(total) })}
      </Text>
    );
  return (
    <Group gap="xs">
      <Text size="sm" fw={500} role="status" className="tabular">
        {t(target.selection.all && count === total ? 'select.everybody' : 'select.some', {
          count,
          shown: format.number(count),
        })}
      </Text>
      <GuardedIcon need={{ write: false }} label={t('select.none')} onClick={onDone}>
        <X size={16} />
      </GuardedIcon>
      <Actions
        onOpen={(action) => openDialog(<BulkDialog action={action} target={target} listId={listId} onDone={onDone} />)}
      />
    </Group>
  );
}

/** The actions as buttons, or as a menu on narrow windows. */
function Actions({ onOpen }: { readonly onOpen: (what: BulkAction) => void }) {
  const { t } = useTranslation('contacts');
  const isPhone = useIsPhone();
  const noExport = useDisabledReason(EXPORT);
  if (!isPhone) return ACTIONS.map(([what, Icon]) => <Action key={what} what={what} Icon={Icon} onOpen={onOpen} />);
  const button = (
    <GuardedButton need={NEED} size="xs" variant="default" rightSection={<ChevronDown size={14} />}>
      {t('bulk.menu')}
    </GuardedButton>
  );
  const actions = ACTIONS.map(([what, Icon]) => ({
    label: t(`bulk.${what}`),
    icon: <Icon size={14} />,
    onClick: () => onOpen(what),
    reason: what === 'export' ? noExport : undefined,
    danger: what === 'delete',
  }));
  return <ActionsMenu label={t('bulk.menu')} button={button} actions={actions} />;
}

type ActionProps = {
  readonly what: BulkAction;
  readonly Icon: (typeof ACTIONS)[number][1];
  readonly onOpen: (what: BulkAction) => void;
};

function Action({ what, Icon, onOpen }: ActionProps) {
  const { t } = useTranslation('contacts');
  return (
    <GuardedButton
      need={what === 'export' ? EXPORT : NEED}
      size="xs"
      variant={what === 'delete' ? 'light' : 'default'}
      {...(what === 'delete' && { color: 'red' })}
      leftSection={<Icon size={14} />}
      onClick={() => onOpen(what)}
    >
      {t(`bulk.${what}`)}
    </GuardedButton>
  );
}

const MoreFilters = lazyPart(() => import('./more-filters.tsx').then((file) => ({ default: file.MoreFilters })));

type FiltersProps = {
  readonly search: Search;
  readonly onSearch: SetSearch;
  /** True to show the list filter; the page of one list has none. */
  readonly hasLists: boolean;
};

/** The filters of the table. Less common ones are behind a button; on a phone, all but the search. */
function Filters(props: FiltersProps) {
  const { search, onSearch } = props;
  const { t } = useTranslation('contacts');
  const isPhone = useIsPhone();
  return (
    <FilterBar isFiltered={isFiltered(search)} onClear={() => onSearch(NO_FILTERS)}>
      <SearchField label={t('filter.search')} value={search.q} onChange={(q) => onSearch({ q })} />
      {!isPhone && <Common {...props} />}
      <More {...props} />
    </FilterBar>
  );
}

function Common({ search, onSearch, hasLists }: FiltersProps) {
  const { t } = useTranslation('contacts');
  const named = useNamedChannels();
  return (
    <>
      {hasLists && (
        <ListSelect
          aria-label={t('filter.list')}
          first={[{ value: '', label: t('filter.list') }]}
          value={search.list}
          onChange={(list) => onSearch({ list })}
        />
      )}
      <ChoiceFilter
        label={t('filter.optedOut')}
        options={[{ value: 'any', label: t('filter.optedOutAny') }, ...named('filter.optedOutOf')]}
        value={search.optedOut}
        onChange={(optedOut) => onSearch({ optedOut })}
      />
    </>
  );
}

function More(props: FiltersProps) {
  const { search, onSearch } = props;
  const { t } = useTranslation('contacts');
  const isPhone = useIsPhone();
  const set = [search.reach, search.valid, search.kind, search.from, search.to].filter((value) => value !== '').length;
  const button = (
    <Button variant="default" leftSection={<SlidersHorizontal size={16} />}>
      {set === 0 ? t('filter.more') : t('filter.moreSet', { count: set })}
    </Button>
  );
  return (
    <OnDemand button={button} kind="dialog">
      <MoreFilters button={button} search={search} onSearch={onSearch}>
        {isPhone && <Common {...props} />}
      </MoreFilters>
    </OnDemand>
  );
}
