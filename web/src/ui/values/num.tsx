import { useFormat } from './format.ts';

/** A number with grouped digits; `–` if it is missing. */
export function Num({
  value,
  options,
}: {
  readonly value: number | null | undefined;
  readonly options?: Intl.NumberFormatOptions;
}) {
  const format = useFormat();
  return <span className="tabular">{value === null || value === undefined ? '–' : format.number(value, options)}</span>;
}

/** A share from 0 to 1, as a percentage. */
export function Percent({
  share,
  digits = 1,
}: {
  readonly share: number | null | undefined;
  readonly digits?: number;
}) {
  const format = useFormat();
  return <span className="tabular">{share === null || share === undefined ? '–' : format.percent(share, digits)}</span>;
}

/** A number of bytes, in a suitable unit. */
export function Bytes({ count }: { readonly count: number | null | undefined }) {
  const format = useFormat();
  return <span className="tabular">{count === null || count === undefined ? '–' : format.bytes(count)}</span>;
}
