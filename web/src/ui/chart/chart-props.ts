export type ChartSeries = {
  /** A key of the rows. */
  readonly name: string;
  readonly label: string;
  /** A colour of the palette: `green.6`. */
  readonly color: string;
};
export type ChartRow = { readonly label: string; readonly values: Readonly<Record<string, number>> };

export type ChartProps = {
  /** What is shown, for those who do not see it. */
  readonly label: string;
  /** What the first column of the table holds: "Hour". */
  readonly rowLabel: string;
  readonly rows: readonly ChartRow[];
  readonly series: readonly ChartSeries[];
  /** `area` (default) for what goes on in time; `bars` for things beside one another; `stacked` bars for parts of a whole. */
  readonly kind?: 'area' | 'bars' | 'stacked';
  readonly height?: number;
};
