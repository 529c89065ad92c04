import { Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, type QueryKey, useQueries, useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useEffect, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { type Column, type ListPage, orderOf, SortHeader, useShownColumns } from './data-table.tsx';
import { useFormat } from './format.ts';
import { ErrorState, TableSkeleton, useIsPhone } from './parts.tsx';
import classes from './virtual-table.module.css';

export type VirtualTableProps<T> = {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  /** The query key of the list with its filters; its pages are cached under it. */
  readonly queryKey: QueryKey;
  readonly fetchPage: (page: { page: number; limit: number }, signal: AbortSignal) => Promise<ListPage<T>>;
  readonly rowId: (row: T) => string;
  readonly empty: ReactNode;
  readonly rowHeight?: number;
  /** The height of the scrolling pane. */
  readonly height?: string;
  readonly sort?: string;
  readonly onSort?: (sort: string) => void;
  readonly onRowClick?: (row: T) => void;
  /** A cell before the columns, such as a checkbox, and its header. */
  readonly lead?: (row: T) => ReactNode;
  readonly leadHead?: ReactNode;
  readonly isSelected?: (row: T) => boolean;
};

const PAGE_SIZE = 100;
const OVERSCAN = 6;
/**
 * Browsers render nothing taller than about 16 million pixels, some 350,000 rows. Rows beyond that can only be found
 * by filters.
 */
const MAX_HEIGHT_PX = 15_000_000;
/** Rows scrolled past within this time are not fetched. */
const SCROLL_SETTLE_MS = 80;
const GAP = 24;
/** The height of the header row, including the pane's borders. */
const HEAD_HEIGHT_PX = 43;

/**
 * A list of any length in a scrolling pane: only visible rows are rendered, and pages of 100 rows are fetched as they
 * come into view. Column widths are shares of the total, from `width` (default 160); on a phone, columns with `phone:
 * 'none'` are omitted.
 */
export function VirtualTable<T extends object>(props: VirtualTableProps<T>) {
  const { queryKey, fetchPage, empty, columns } = props;
  const isPhone = useIsPhone();
  const onPhone = useMemo(() => columns.filter(({ phone }) => phone !== 'none'), [columns]);
  const shown = useShownColumns(isPhone ? onPhone : columns);
  const first = useQuery({
    queryKey: [...queryKey, 0],
    queryFn: ({ signal }) => fetchPage({ page: 0, limit: PAGE_SIZE }, signal),
    placeholderData: keepPreviousData,
  });
  if (first.data === undefined) {
    if (first.error === null) return <TableSkeleton />;
    return <ErrorState error={first.error} onRetry={() => void first.refetch()} />;
  }
  if (first.data.total === 0) return empty;
  return <Pane {...props} columns={shown} total={first.data.total} />;
}

type PaneProps<T> = VirtualTableProps<T> & { readonly total: number };

function Pane<T extends object>(props: PaneProps<T>) {
  const { label, columns, total, queryKey, rowHeight = 44, height = 'calc(100dvh - 280px)' } = props;
  const pane = useRef<HTMLDivElement>(null);
  const count = Math.min(total, Math.floor(MAX_HEIGHT_PX / rowHeight));
  const rows = useVirtualizer({
    count,
    getScrollElement: () => pane.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
  });
  const items = rows.getVirtualItems();
  const rowAt = usePages(props, items[0]?.index ?? 0, items.at(-1)?.index ?? 0);
  const list = JSON.stringify(queryKey);
  useEffect(() => void pane.current?.scrollTo({ top: 0 }), [list]);
  // A short list is only as tall as its rows.
  const whole = HEAD_HEIGHT_PX + count * rowHeight;
  const size = { height: `min(${height}, ${whole}px)`, minHeight: Math.min(whole, 240) };
  const grid = { gridTemplateColumns: template(columns, props.lead !== undefined) };
  const isChosen = (row: T | undefined): boolean => row !== undefined && props.isSelected?.(row) === true;
  return (
    <>
      <div ref={pane} className={classes.pane} style={size} tabIndex={0}>
        <div
          role="table"
          aria-label={label}
          aria-rowcount={total + 1}
          style={{ minWidth: minTableWidth(columns, props.lead !== undefined) }}
        >
          <div role="rowgroup" className={classes.head}>
            <div role="row" aria-rowindex={1} className={classes.row} style={grid}>
              {props.lead && <div role="columnheader">{props.leadHead}</div>}
              {columns.map((column) => (
                <Head key={column.id} column={column} {...props} />
              ))}
            </div>
          </div>
          <div role="rowgroup" style={{ height: rows.getTotalSize(), position: 'relative' }}>
            {items.map(({ index, start, size: tall }) => (
              <VirtualRow
                key={index}
                index={index}
                row={rowAt(index)}
                isSelected={isChosen(rowAt(index))}
                tracks={grid.gridTemplateColumns}
                start={start}
                height={tall}
                columns={columns}
                lead={props.lead}
                onRowClick={props.onRowClick}
              />
            ))}
          </div>
        </div>
      </div>
      {count < total && <RowLimitNote count={count} />}
    </>
  );
}

/** A note that the list continues beyond its last row. */
function RowLimitNote({ count }: { readonly count: number }) {
  const { t } = useTranslation('ui');
  return (
    <Text size="xs" c="dimmed">
      {t('table.beyond', { shown: useFormat().number(count) })}
    </Text>
  );
}

const LEAD_WIDTH = 28;
const minWidthOf = ({ width = 160, minWidth }: Pick<Column<never>, 'width' | 'minWidth'>): number =>
  minWidth ?? Math.min(width, 96);
const minTableWidth = (columns: readonly Column<never>[], hasLead: boolean): number =>
  columns.reduce((sum, column) => sum + minWidthOf(column) + GAP, GAP) + (hasLead ? LEAD_WIDTH + GAP : 0);

const template = (columns: readonly Column<never>[], hasLead: boolean): string =>
  [
    ...(hasLead ? [`${LEAD_WIDTH}px`] : []),
    ...columns.map((column) => `minmax(${minWidthOf(column)}px, ${column.width ?? 160}fr)`),
  ].join(' ');

/** The pages with the rows from `first` to `last`; rows scrolled past quickly are not fetched. */
function usePages<T>({ queryKey, fetchPage }: VirtualTableProps<T>, first: number, last: number) {
  const [span] = useDebouncedValue(
    `${Math.floor(first / PAGE_SIZE)}-${Math.floor(last / PAGE_SIZE)}`,
    SCROLL_SETTLE_MS,
  );
  const [from = 0, to = 0] = span.split('-').map(Number);
  const answers = useQueries({
    queries: Array.from({ length: to - from + 1 }, (_, at) => ({
      queryKey: [...queryKey, from + at],
      queryFn: ({ signal }: { signal: AbortSignal }) => fetchPage({ page: from + at, limit: PAGE_SIZE }, signal),
      staleTime: 60_000,
    })),
  });
  return (index: number): T | undefined => answers[Math.floor(index / PAGE_SIZE) - from]?.data?.data[index % PAGE_SIZE];
}

type HeadProps<T> = VirtualTableProps<T> & { readonly column: Column<T> };

function Head<T>({ column, sort, onSort }: HeadProps<T>) {
  return (
    <div
      role="columnheader"
      title={column.header}
      {...(column.sortable && { 'aria-sort': orderOf(column, sort) })}
      style={{ textAlign: column.align }}
      className={classes.cell}
    >
      {onSort ? <SortHeader column={column} sort={sort} onSort={onSort} /> : column.header}
    </div>
  );
}

type RowProps<T> = Pick<VirtualTableProps<T>, 'columns' | 'lead' | 'onRowClick'> & {
  readonly index: number;
  readonly row: T | undefined;
  readonly isSelected: boolean;
  /** The grid tracks of the columns. */
  readonly tracks: string;
  readonly start: number;
  readonly height: number;
};

function PlainRow<T>({ index, row, columns, lead, isSelected, onRowClick, tracks, start, height }: RowProps<T>) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={`${classes.row} ${classes.body}`}
      style={{ gridTemplateColumns: tracks, height, transform: `translateY(${start}px)` }}
      data-selected={isSelected || undefined}
      {...(row !== undefined && onRowClick && { onClick: () => onRowClick(row) })}
    >
      {lead && (
        <div role="cell" onClick={(event) => event.stopPropagation()}>
          {row && lead(row)}
        </div>
      )}
      {columns.map(({ id, cell, align }) => (
        <div key={id} role="cell" className={classes.cell} style={{ textAlign: align }}>
          {row === undefined ? <span className={classes.blank} /> : cell(row)}
        </div>
      ))}
    </div>
  );
}

/** Scrolling renders the pane on every frame; memoized rows render only when they come into view. */
const VirtualRow = memo(PlainRow) as typeof PlainRow;
