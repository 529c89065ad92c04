export type ChartSeries = {
  /** The key of the series in `ChartRow.values`. */
  readonly name: string;
  readonly label: string;
  /** A colour of the palette, such as `green.6`. */
  readonly color: string;
};
export type ChartRow = { readonly label: string; readonly values: Readonly<Record<string, number>> };

export type ChartProps = {
  /** The accessible name of the chart. */
  readonly label: string;
  /** The header of the table's first column: "Hour". */
  readonly rowLabel: string;
  readonly rows: readonly ChartRow[];
  readonly series: readonly ChartSeries[];
  /** `area` (default) for time series, `bars` for comparisons, `stacked` bars for parts of a whole. */
  readonly kind?: 'area' | 'bars' | 'stacked';
  readonly height?: number;
};
