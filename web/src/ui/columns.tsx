import { Money, Num } from './values.tsx';

type More = { readonly phone?: 'none'; readonly hidden?: boolean };

/** A column of a table for the number in a field of its rows, which is also its id. */
export const numberColumn = <K extends string>(id: K, header: string, more: More = {}) => ({
  id,
  header,
  align: 'right' as const,
  cell: (row: { readonly [field in K]: number | null | undefined }) => <Num value={row[id]} />,
  ...more,
});

/** A column of a table for the amount in a field of its rows, which is also its id. */
export const moneyColumn = <K extends string>(
  id: K,
  header: string,
  currency: string,
  { isPrice = false, ...more }: More & { readonly isPrice?: boolean } = {},
) => ({
  id,
  header,
  align: 'right' as const,
  cell: (row: { readonly [field in K]: number | null }) => (
    <Money amount={row[id]} currency={currency} isPrice={isPrice} />
  ),
  ...more,
});
