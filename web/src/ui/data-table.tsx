import {
  ActionIcon,
  Group,
  NativeSelect,
  Pagination,
  Stack,
  Text,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { keepPreviousData, type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query';
import { ArrowDown, ArrowUp, ArrowUpDown, Columns3 } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import type { ColumnChoiceProps, HideableColumn } from './lazy-props.ts';
import classes from './data-table.module.css';
import { useFormat } from './format.ts';
import { ErrorState, OnDemand, TableSkeleton, useIsNarrow, useIsPhone } from './parts.tsx';

/** One column of a table. */
export type Column<T> = {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  /** True if the server can sort by it; its header is then a button that sets `sort` in the URL to `id` or `-id`. */
  readonly sortable?: boolean;
  /** `right` for numbers. */
  readonly align?: 'right';
  /** True if the column is hidden by default. */
  readonly hidden?: boolean;
  /** On a phone: the `title` of the card (one column), a `line` with its header (default), or `none`. */
  readonly phone?: 'title' | 'line' | 'none';
  readonly width?: number;
  /** In a virtual table, the width below which the table scrolls sideways instead of cutting the values. */
  readonly minWidth?: number;
};

/** One page of a list, as the server returns it. */
export type ListPage<T> = {
  readonly data: readonly T[];
  readonly page: number;
  readonly limit: number;
  readonly total: number;
};
/** The selection of rows, as `useRowSelection` gives it. */
export type RowSelection = {
  readonly head: ReactNode;
  readonly check: (rowId: string) => ReactNode;
  readonly has: (rowId: string) => boolean;
};
export type ListSearch = { readonly page: number; readonly limit: number; readonly sort?: string };

type DataTableProps<T> = {
  /** The name of the table, under which the column choice is stored. */
  readonly id: string;
  /** The accessible name: "API keys". */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly query: {
    readonly data: ListPage<T> | undefined;
    readonly error: Error | null;
    readonly isPending: boolean;
    readonly isFetching: boolean;
    refetch(): unknown;
  };
  readonly rowId: (row: T) => string;
  /** The state of `useUrlState` with `listFields()`. */
  readonly search: ListSearch;
  readonly onSearch: (patch: { page?: number; limit?: number; sort?: string }) => void;
  /** Shown instead of an empty table: an `EmptyState`. */
  readonly empty: ReactNode;
  /** The last column: the actions for one row. */
  readonly actions?: (row: T) => ReactNode;
  /** Called on a click anywhere in a row. The row also needs a link or button for the keyboard. */
  readonly onRowClick?: (row: T) => void;
  /** A checkbox before each row, and one for all of them: `useRowSelection`. */
  readonly selection?: RowSelection;
  /** The actions for the selected rows, next to the column choice. */
  readonly toolbar?: ReactNode;
  /** Shown instead of the pager, for lists with cursors. */
  readonly footer?: ReactNode;
};

/** A table that the server filters, sorts and pages; on a phone, cards instead of rows. */
export function DataTable<T>(props: DataTableProps<T>) {
  const { query, empty, search, columns, id } = props;
  const isPhone = useIsPhone();
  const choice = useHiddenColumns(id, columns);
  if (query.error !== null && query.data === undefined)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <TableSkeleton rows={Math.min(search.limit, 8)} />;
  if (query.data?.total === 0) return empty;
  return (
    <Stack gap="sm" aria-busy={query.isFetching}>
      {props.toolbar && <Group gap="sm">{props.toolbar}</Group>}
      {isPhone ? <Cards {...props} /> : <Grid {...props} choice={choice} />}
      {props.footer ?? <Footer {...props} />}
    </Stack>
  );
}

type GridProps<T> = DataTableProps<T> & { readonly choice: ReturnType<typeof useHiddenColumns> };

function Grid<T>(props: GridProps<T>) {
  const { t } = useTranslation('ui');
  const { label, query, rowId, selection, actions, choice } = props;
  const columns = useShownColumns(props.columns.filter(({ id }) => !choice.hidden.has(id)));
  return (
    <div className={classes.frame}>
      <div className={classes.scroll} tabIndex={0} role="region" aria-label={label}>
        <table aria-label={label} className={classes.table}>
          <thead>
            <tr>
              {selection && <th style={{ width: 40 }}>{selection.head}</th>}
              {columns.map((column) => (
                <Head key={column.id} column={column} {...props} />
              ))}
              {actions && (
                <th style={{ width: 1 }}>
                  <VisuallyHidden>{t('table.actions')}</VisuallyHidden>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {query.data?.data.map((row) => (
              <GridRow key={rowId(row)} row={row} {...props} columns={columns} />
            ))}
          </tbody>
        </table>
      </div>
      <div className={classes.choice}>
        <ColumnChoice columns={props.columns} {...choice} />
      </div>
    </div>
  );
}

/** How many columns a tablet held upright shows. */
const NARROW_COLUMNS = 4;

/** The columns that there is room for: all, or the first ones. */
export function useShownColumns<T>(columns: readonly Column<T>[]): readonly Column<T>[] {
  const isNarrow = useIsNarrow();
  return useMemo(() => (isNarrow ? columns.slice(0, NARROW_COLUMNS) : columns), [isNarrow, columns]);
}

type HeadProps<T> = DataTableProps<T> & { readonly column: Column<T> };

function Head<T>({ column, search, onSearch }: HeadProps<T>) {
  const { align, width } = column;
  const style = { ...(width !== undefined && { width }), ...(align && { textAlign: align }) };
  return (
    <th style={style} {...(column.sortable && { 'aria-sort': orderOf(column, search.sort) })}>
      <SortHeader column={column} sort={search.sort} onSort={(sort) => onSearch({ sort })} />
    </th>
  );
}

/** The order in which a table is sorted by a column, from the `sort` of its URL. */
export const orderOf = ({ id }: { readonly id: string }, sort = ''): 'ascending' | 'descending' | 'none' =>
  sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : 'none';

type SortHeaderProps = {
  readonly column: Pick<Column<never>, 'id' | 'header' | 'sortable'>;
  readonly sort: string | undefined;
  readonly onSort: (sort: string) => void;
};

/** The header of a column; a button if the server can sort by it, first in ascending order. */
export function SortHeader({ column, sort, onSort }: SortHeaderProps) {
  const { id, header, sortable } = column;
  if (!sortable) return header;
  const order = orderOf(column, sort);
  const Sign = order === 'ascending' ? ArrowUp : order === 'descending' ? ArrowDown : ArrowUpDown;
  return (
    <UnstyledButton className={classes.sort} onClick={() => onSort(order === 'ascending' ? `-${id}` : id)}>
      {header}
      <Sign size={14} aria-hidden="true" />
    </UnstyledButton>
  );
}

type RowProps<T> = DataTableProps<T> & { readonly row: T };

function GridRow<T>({ row, selection, columns, actions, rowId, onRowClick }: RowProps<T>) {
  const id = rowId(row);
  return (
    <tr
      data-selected={selection?.has(id) || undefined}
      {...(onRowClick && { onClick: () => onRowClick(row), style: { cursor: 'pointer' } })}
    >
      {selection && <td onClick={(event) => event.stopPropagation()}>{selection.check(id)}</td>}
      {columns.map((column) => (
        <td key={column.id} style={{ textAlign: column.align }}>
          {column.cell(row)}
        </td>
      ))}
      {actions && (
        <td onClick={(event) => event.stopPropagation()}>
          <Group gap={4} wrap="nowrap" justify="flex-end">
            {actions(row)}
          </Group>
        </td>
      )}
    </tr>
  );
}

function Cards<T>(props: DataTableProps<T>) {
  return (
    <ul className={classes.cards} data-card="" aria-label={props.label}>
      {props.query.data?.data.map((row) => (
        <li key={props.rowId(row)} className={classes.card}>
          <Card row={row} {...props} />
        </li>
      ))}
    </ul>
  );
}

function Card<T>({ row, selection, columns, actions, rowId, onRowClick }: RowProps<T>) {
  const title = columns.find(({ phone }) => phone === 'title') ?? columns[0];
  const lines = columns.filter((column) => column !== title && column.phone !== 'none' && !column.hidden);
  return (
    <div {...(onRowClick && { onClick: () => onRowClick(row) })}>
      <Group justify="space-between" wrap="nowrap" align="flex-start" gap="xs">
        <Group gap="xs" wrap="nowrap" style={{ minWidth: 0 }}>
          {selection && <span onClick={(event) => event.stopPropagation()}>{selection.check(rowId(row))}</span>}
          <div className={classes.cardTitle}>{title?.cell(row)}</div>
        </Group>
        {actions && (
          <Group gap={4} wrap="nowrap" onClick={(event) => event.stopPropagation()}>
            {actions(row)}
          </Group>
        )}
      </Group>
      <dl className={classes.lines}>
        {lines.map(({ id, header, cell }) => (
          <div key={id} className={classes.line}>
            <dt>{header}</dt>
            <dd>{cell(row)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

const SIZES = ['10', '25', '50', '100'];

function Footer<T>({ query, search, onSearch }: DataTableProps<T>) {
  const { t } = useTranslation('ui');
  const format = useFormat();
  const total = query.data?.total ?? 0;
  const first = total === 0 ? 0 : search.page * search.limit + 1;
  const last = Math.min(total, (search.page + 1) * search.limit);
  const sizes = SIZES.includes(String(search.limit)) ? SIZES : [String(search.limit), ...SIZES];
  return (
    <Group justify="space-between" gap="sm">
      <Text size="sm" c="dimmed" className="tabular" role="status">
        {t('table.range', { first: format.number(first), last: format.number(last), total: format.number(total) })}
      </Text>
      <Group gap="sm">
        <NativeSelect
          aria-label={t('table.pageSize')}
          data={sizes.map((value) => ({ value, label: t('table.perPage', { size: value }) }))}
          value={String(search.limit)}
          onChange={(event) => onSearch({ limit: Number(event.currentTarget.value), page: 0 })}
          size="xs"
        />
        <Pagination
          total={Math.max(1, Math.ceil(total / search.limit))}
          value={search.page + 1}
          onChange={(page) => onSearch({ page: page - 1 })}
          size="sm"
          siblings={1}
          getControlProps={(control) => ({ 'aria-label': t(`table.${control}`) })}
          getItemProps={(page) => ({ 'aria-label': t('table.page', { page }) })}
        />
      </Group>
    </Group>
  );
}

/** The hidden columns of a table, stored in this browser. */
export function useHiddenColumns(table: string, columns: readonly HideableColumn[]) {
  const usual = columns.filter(({ hidden }) => hidden).map(({ id }) => id);
  const [stored, setStored] = useLocalStorage<readonly string[]>({
    key: `heliograph-columns-${table}`,
    defaultValue: usual,
    getInitialValueInEffect: false,
  });
  const hidden = useMemo(() => new Set(stored), [stored]);
  return { hidden, setHidden: (ids: ReadonlySet<string>) => setStored([...ids]) };
}

const LazyList = lazyPart(() => import('./column-list.tsx').then(({ ColumnList }) => ({ default: ColumnList })));

/** The menu that shows and hides columns. */
export function ColumnChoice(props: ColumnChoiceProps) {
  const { t } = useTranslation('ui');
  const button = (
    <ActionIcon variant="subtle" color="gray" aria-label={t('table.columns')} title={t('table.columns')}>
      <Columns3 size={16} />
    </ActionIcon>
  );
  return (
    <OnDemand button={button} kind="dialog">
      <LazyList {...props} button={button} />
    </OnDemand>
  );
}

/** The query for a `DataTable`. The previous rows stay while another page or filter is loading. */
export const useListQuery = <Row,>(
  queryKey: QueryKey,
  fetchPage: (signal: AbortSignal) => Promise<ListPage<Row>>,
  options: Pick<UseQueryOptions<ListPage<Row>>, 'refetchInterval' | 'enabled'> = {},
) =>
  useQuery({
    queryKey,
    queryFn: ({ signal }) => fetchPage(signal),
    placeholderData: keepPreviousData<ListPage<Row>>,
    ...options,
  });
