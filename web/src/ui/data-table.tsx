import { Checkbox, Group, NativeSelect, Pagination, Stack, Text, UnstyledButton } from '@mantine/core';
import {
  columnVisibilityFeature,
  type ReactTable,
  rowSelectionFeature,
  type Row,
  type RowSelectionState,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { ArrowDown, ArrowUp, ArrowUpDown } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ColumnChoice, useHiddenColumns } from './column-choice.tsx';
import classes from './data-table.module.css';
import { useIsPhone } from './use-is-phone.ts';
import { ErrorState } from './error-state.tsx';
import { useFormat } from './format.ts';
import { TableSkeleton } from './table-skeleton.tsx';

/** One column. */
export type Column<T> = {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  /** The server can sort by it: its header is a button, and `sort` in the address becomes `id` or `-id`. */
  readonly sortable?: boolean;
  /** Figures stand at the right. */
  readonly align?: 'right';
  /** Not shown until somebody chooses it. */
  readonly hidden?: boolean;
  /** On a phone: the card's `title` (one column), a line with its header (default), or `none`. */
  readonly phone?: 'title' | 'line' | 'none';
  readonly width?: number;
};

/** A page of a list, as the server answers it. */
export type ListPage<T> = {
  readonly data: readonly T[];
  readonly page: number;
  readonly limit: number;
  readonly total: number;
};
export type ListSearch = { readonly page: number; readonly limit: number; readonly sort?: string };

export type DataTableProps<T> = {
  /** Names the table: also what the choice of columns is kept under. */
  readonly id: string;
  /** For screen readers: "API keys". */
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
  /** Of `useUrlState`, with `listFields()`. */
  readonly search: ListSearch;
  readonly onSearch: (patch: { page?: number; limit?: number; sort?: string }) => void;
  /** In place of an empty table: an `EmptyState`. */
  readonly empty: ReactNode;
  /** The last column: buttons or a menu for one row. */
  readonly actions?: (row: T) => ReactNode;
  /** A click anywhere in a row; the row needs a link or button for the keyboard besides. */
  readonly onRowClick?: (row: T) => void;
  /** Checkboxes: the ids that are chosen, across pages. */
  readonly selected?: ReadonlySet<string>;
  readonly onSelect?: (ids: ReadonlySet<string>) => void;
  /** Beside the choice of columns: what to do with those selected. */
  readonly toolbar?: ReactNode;
  /** In place of the choice of pages, for lists that go on from where the last answer ended. */
  readonly footer?: ReactNode;
};

const features = tableFeatures({ rowSelectionFeature, columnVisibilityFeature });
type TableOf<T extends object> = ReactTable<typeof features, T>;
type RowOf<T extends object> = Row<typeof features, T>;

/** A list that the server filters, sorts and pages; cards in place of rows on a phone. */
export function DataTable<T extends object>(props: DataTableProps<T>) {
  const { query, empty, search, columns, id } = props;
  const isPhone = useIsPhone();
  const choice = useHiddenColumns(id, columns);
  const table = useRows(props, choice.hidden);
  if (query.error !== null && query.data === undefined)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <TableSkeleton rows={Math.min(search.limit, 8)} />;
  if (query.data?.total === 0) return empty;
  const Rows = isPhone ? Cards<T> : Grid<T>;
  return (
    <Stack gap="sm" aria-busy={query.isFetching}>
      {(props.toolbar !== undefined || !isPhone) && (
        <Group justify="space-between" mih={32}>
          <Group gap="sm">{props.toolbar}</Group>
          {!isPhone && <ColumnChoice columns={columns} {...choice} />}
        </Group>
      )}
      <Rows table={table} {...props} />
      {props.footer ?? <Footer {...props} />}
    </Stack>
  );
}

const NONE: readonly never[] = [];

function useRows<T extends object>(props: DataTableProps<T>, hidden: ReadonlySet<string>): TableOf<T> {
  const { columns, query, rowId, selected, onSelect } = props;
  const definitions = useMemo(
    () =>
      columns.map(({ id, header, cell }) => ({ id, header, cell: ({ row }: { row: RowOf<T> }) => cell(row.original) })),
    [columns],
  );
  const rowSelection = Object.fromEntries([...(selected ?? [])].map((key) => [key, true as const]));
  return useTable<typeof features, T>({
    features,
    columns: definitions,
    data: query.data?.data ?? NONE,
    getRowId: rowId,
    enableRowSelection: onSelect !== undefined,
    state: { rowSelection, columnVisibility: Object.fromEntries([...hidden].map((key) => [key, false])) },
    onRowSelectionChange(update) {
      const next: RowSelectionState = typeof update === 'function' ? update(rowSelection) : update;
      onSelect?.(new Set(Object.keys(next)));
    },
  });
}

type PartProps<T extends object> = DataTableProps<T> & { readonly table: TableOf<T> };

function Grid<T extends object>({ table, ...props }: PartProps<T>) {
  const { t } = useTranslation('ui');
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={props.label}>
      <table aria-label={props.label} className={classes.table}>
        <thead>
          <tr>
            {props.onSelect && (
              <th style={{ width: 40 }}>
                <Checkbox
                  aria-label={t('table.selectAll')}
                  checked={table.getIsAllPageRowsSelected()}
                  indeterminate={table.getIsSomePageRowsSelected() && !table.getIsAllPageRowsSelected()}
                  onChange={table.getToggleAllPageRowsSelectedHandler()}
                />
              </th>
            )}
            {table.getVisibleLeafColumns().map(({ id }) => (
              <Head key={id} column={columnOf(props.columns, id)} {...props} />
            ))}
            {props.actions && <th style={{ width: 1 }} aria-label={t('table.actions')} />}
          </tr>
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <GridRow key={row.id} row={row} {...props} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function columnOf<T>(columns: readonly Column<T>[], id: string): Column<T> {
  const column = columns.find((each) => each.id === id);
  if (column === undefined) throw new Error(`no column ${id}`);
  return column;
}

type HeadProps<T extends object> = DataTableProps<T> & { readonly column: Column<T> };

function Head<T extends object>({ column, search, onSearch }: HeadProps<T>) {
  const { id, header, align, width, sortable } = column;
  const order = search.sort === id ? 'ascending' : search.sort === `-${id}` ? 'descending' : 'none';
  const Sign = order === 'ascending' ? ArrowUp : order === 'descending' ? ArrowDown : ArrowUpDown;
  const style = { ...(width !== undefined && { width }), ...(align && { textAlign: align }) };
  if (!sortable) return <th style={style}>{header}</th>;
  return (
    <th style={style} aria-sort={order}>
      <UnstyledButton
        className={classes.sort}
        onClick={() => onSearch({ sort: order === 'descending' ? id : `-${id}` })}
      >
        {header}
        <Sign size={14} aria-hidden="true" />
      </UnstyledButton>
    </th>
  );
}

type RowProps<T extends object> = DataTableProps<T> & { readonly row: RowOf<T> };

function GridRow<T extends object>({ row, columns, actions, onRowClick, onSelect }: RowProps<T>) {
  return (
    <tr
      data-selected={row.getIsSelected() || undefined}
      {...(onRowClick && { onClick: () => onRowClick(row.original), style: { cursor: 'pointer' } })}
    >
      {onSelect && (
        <td onClick={(event) => event.stopPropagation()}>
          <RowCheck row={row} />
        </td>
      )}
      {row.getVisibleCells().map((cell) => {
        const column = columnOf(columns, cell.column.id);
        return (
          <td key={cell.id} style={{ textAlign: column.align }}>
            {column.cell(row.original)}
          </td>
        );
      })}
      {actions && (
        <td onClick={(event) => event.stopPropagation()}>
          <Group gap={4} wrap="nowrap" justify="flex-end">
            {actions(row.original)}
          </Group>
        </td>
      )}
    </tr>
  );
}

function RowCheck<T extends object>({ row }: { readonly row: RowOf<T> }) {
  const { t } = useTranslation('ui');
  return (
    <Checkbox aria-label={t('table.select')} checked={row.getIsSelected()} onChange={row.getToggleSelectedHandler()} />
  );
}

function Cards<T extends object>({ table, ...props }: PartProps<T>) {
  return (
    <ul className={classes.cards} aria-label={props.label}>
      {table.getRowModel().rows.map((row) => (
        <li key={row.id} className={classes.card}>
          <Card row={row} {...props} />
        </li>
      ))}
    </ul>
  );
}

function Card<T extends object>({ row, columns, actions, onRowClick, onSelect }: RowProps<T>) {
  const title = columns.find(({ phone }) => phone === 'title') ?? columns[0];
  const lines = columns.filter((column) => column !== title && column.phone !== 'none' && !column.hidden);
  return (
    <div {...(onRowClick && { onClick: () => onRowClick(row.original) })}>
      <Group justify="space-between" wrap="nowrap" align="flex-start" gap="xs">
        <Group gap="xs" wrap="nowrap" style={{ minWidth: 0 }}>
          {onSelect && (
            <span onClick={(event) => event.stopPropagation()}>
              <RowCheck row={row} />
            </span>
          )}
          <div className={classes.cardTitle}>{title?.cell(row.original)}</div>
        </Group>
        {actions && (
          <Group gap={4} wrap="nowrap" onClick={(event) => event.stopPropagation()}>
            {actions(row.original)}
          </Group>
        )}
      </Group>
      <dl className={classes.lines}>
        {lines.map(({ id, header, cell }) => (
          <div key={id} className={classes.line}>
            <dt>{header}</dt>
            <dd>{cell(row.original)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

const SIZES = ['10', '25', '50', '100'];

function Footer<T extends object>({ query, search, onSearch }: DataTableProps<T>) {
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
