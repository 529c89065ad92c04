import type { ReactNode } from 'react';
import type { Column } from './data-table.tsx';
import classes from './small-table.module.css';

export type SmallColumn<T> = Pick<Column<T>, 'id' | 'cell'> & {
  readonly header: ReactNode;
  readonly align?: 'right' | 'center';
  /** `none` if the column is hidden on a phone. */
  readonly phone?: 'none';
};

type SmallTableProps<T> = {
  readonly label: string;
  readonly columns: readonly SmallColumn<T>[];
  readonly rows: readonly T[];
  readonly rowId: (row: T) => string | number;
  /** The cells of a last row, for sums. */
  readonly footer?: ReactNode;
  /** The height in pixels from which the rows scroll below the header. */
  readonly maxHeight?: number;
};

/** A table for a few rows in a section or a dialog, without paging, sorting or selection; it scrolls sideways if narrow. */
export const SmallTable = <T,>({ label, columns, rows, rowId, footer, maxHeight }: SmallTableProps<T>) => (
  <div className={classes.scroll} style={{ maxHeight }} tabIndex={0} role="region" aria-label={label}>
    <table className={classes.table} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ id, header, align, phone }) => (
            <th key={id} scope="col" data-align={align} data-phone={phone}>
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowId(row)}>
            {columns.map(({ id, cell, align, phone }) => (
              <td key={id} data-align={align} data-phone={phone}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
      {footer && (
        <tfoot>
          <tr>{footer}</tr>
        </tfoot>
      )}
    </table>
  </div>
);
