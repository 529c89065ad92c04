import type { ReactNode } from 'react';
import classes from './plain-table.module.css';

export type PlainColumn<T> = {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  readonly align?: 'right';
  /** Left out where there is no room for it. */
  readonly wideOnly?: boolean;
};

type PlainTableProps<T> = {
  readonly label: string;
  readonly columns: readonly PlainColumn<T>[];
  readonly rows: readonly T[];
  readonly rowId: (row: T) => string;
};

/** A few rows within a section, without paging or choices. */
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
