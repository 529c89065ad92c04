import { Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, type QueryKey, useQueries, useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useEffect, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column, ListPage } from './data-table.tsx';
import { ErrorState } from '../error-state.tsx';
import { useFormat } from '../values/format.ts';
import { TableSkeleton } from './table-skeleton.tsx';
import { useIsPhone } from '../use-is-phone.ts';
import classes from './virtual-table.module.css';

export type VirtualTableProps<T> = {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  /** Names the list with its filters; pages are kept under it. */
  readonly queryKey: QueryKey;
  readonly fetchPage: (page: { page: number; limit: number }, signal: AbortSignal) => Promise<ListPage<T>>;
  readonly rowId: (row: T) => string;
  readonly empty: ReactNode;
  readonly rowHeight?: number;
  /** Of the pane that scrolls. */
  readonly height?: string;
  readonly sort?: string;
  readonly onSort?: (sort: string) => void;
  readonly onRowClick?: (row: T) => void;
  /** Before the columns: checkboxes, and what stands above them. */
  readonly lead?: (row: T) => ReactNode;
  readonly leadHead?: ReactNode;
  readonly isSelected?: (row: T) => boolean;
};

const PAGE_SIZE = 100;
const OVERSCAN = 6;
/** Browsers draw nothing taller than about 16 million pixels: some 350,000 rows. What is behind them, a filter finds. */
const MOST_PIXELS = 15_000_000;
/** Rows that are scrolled past within this time are not fetched. */
const CALM_MS = 80;
const GAP = 24;
/** Of the row of names, with the lines around the pane. */
const HEAD_HEIGHT = 43;

/**
 * A list of any length in a pane that scrolls: rows that are in view are drawn, pages of 100 are fetched as they come
 * into view. Widths of columns are shares of the whole, from `width` (default 160); on a phone those of `phone: 'none'`
 * are left out.
 */
export function VirtualTable<T extends object>(props: VirtualTableProps<T>) {
  const { queryKey, fetchPage, empty, columns } = props;
  const isPhone = useIsPhone();
  const shown = useMemo(
    () => (isPhone ? columns.filter(({ phone }) => phone !== 'none') : columns),
    [isPhone, columns],
  );
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
  const count = Math.min(total, Math.floor(MOST_PIXELS / rowHeight));
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
  // A short list ends where its rows do.
  const whole = HEAD_HEIGHT + count * rowHeight;
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
          style={{ minWidth: leastWidth(columns, props.lead !== undefined) }}
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
      {count < total && <Beyond count={count} />}
    </>
  );
}

/** That the list goes on behind its last row. */
function Beyond({ count }: { readonly count: number }) {
  const { t } = useTranslation('ui');
  return (
    <Text size="xs" c="dimmed">
      {t('table.beyond', { shown: useFormat().number(count) })}
    </Text>
  );
}

const LEAD_WIDTH = 28;
const leastOf = ({ width = 160 }: Pick<Column<never>, 'width'>): number => Math.min(width, 96);
const leastWidth = (columns: readonly Column<never>[], hasLead: boolean): number =>
  columns.reduce((sum, column) => sum + leastOf(column) + GAP, GAP) + (hasLead ? LEAD_WIDTH + GAP : 0);

const template = (columns: readonly Column<never>[], hasLead: boolean): string =>
  [
    ...(hasLead ? [`${LEAD_WIDTH}px`] : []),
    ...columns.map((column) => `minmax(${leastOf(column)}px, ${column.width ?? 160}fr)`),
  ].join(' ');

/** The pages that the rows from `first` to `last` are on; what is scrolled past fast is not fetched. */
function usePages<T>({ queryKey, fetchPage }: VirtualTableProps<T>, first: number, last: number) {
  const [span] = useDebouncedValue(`${Math.floor(first / PAGE_SIZE)}-${Math.floor(last / PAGE_SIZE)}`, CALM_MS);
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

function Head<T>({ column: { id, header, sortable, align }, sort = '', onSort }: HeadProps<T>) {
  const order = sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : 'none';
  return (
    <div
      role="columnheader"
      {...(sortable && { 'aria-sort': order })}
      style={{ textAlign: align }}
      className={classes.cell}
    >
      {sortable && onSort ? (
        <button type="button" className={classes.sort} onClick={() => onSort(order === 'ascending' ? `-${id}` : id)}>
          {header} {order === 'ascending' ? '↑' : order === 'descending' ? '↓' : ''}
        </button>
      ) : (
        header
      )}
    </div>
  );
}

type RowProps<T> = Pick<VirtualTableProps<T>, 'columns' | 'lead' | 'onRowClick'> & {
  readonly index: number;
  readonly row: T | undefined;
  readonly isSelected: boolean;
  /** The widths of the columns. */
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

/** Scrolling renders the pane with each frame, and of its rows only those that came into view. */
const VirtualRow = memo(PlainRow) as typeof PlainRow;
