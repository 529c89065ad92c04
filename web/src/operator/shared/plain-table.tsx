import type { ReactNode } from 'react';
import classes from './plain-table.module.css';

export type PlainColumn<T> = {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  readonly align?: 'right';
  /** True if the column is hidden on narrow windows. */
  readonly wideOnly?: boolean;
};

type PlainTableProps<T> = {
  readonly label: string;
  readonly columns: readonly PlainColumn<T>[];
  readonly rows: readonly T[];
  readonly rowId: (row: T) => string;
};

/** A simple table for a few rows, without paging or selection. */
export const PlainTable = <T,>({ label, columns, rows, rowId }: PlainTableProps<T>) => (
  <table className={classes.table} aria-label={label}>
    <thead>
      <tr>
        {columns.map(({ id, header, align, wideOnly }) => (
          <th key={id} scope="col" data-align={align} data-wide={wideOnly}>
            {header}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={rowId(row)}>
          {columns.map(({ id, cell, align, wideOnly }) => (
            <td key={id} data-align={align} data-wide={wideOnly}>
              {cell(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);
