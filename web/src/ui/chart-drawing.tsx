import { AreaChart, BarChart } from '@mantine/charts';
import type { ChartProps } from './lazy-props.ts';
import { useFormat } from './format.ts';
import '@mantine/charts/styles.layer.css';

/** The drawing of `Chart`, loaded on demand. */
export function ChartDrawing({ rows, series, kind = 'area', height = 260 }: ChartProps) {
  const format = useFormat();
  const shared = {
    h: height,
    data: rows.map(({ label, values }) => ({ label, ...values })),
    dataKey: 'label',
    series: [...series],
    valueFormatter: (value: number) => format.number(value),
    gridAxis: 'x' as const,
    tickLine: 'none' as const,
    withLegend: false,
    yAxisProps: { width: axisWidth(rows, kind, format.number), allowDecimals: false },
    xAxisProps: { minTickGap: 24 },
  };
  if (kind === 'area') return <AreaChart {...shared} curveType="monotone" withDots={false} fillOpacity={0.15} />;
  return <BarChart {...shared} type={kind === 'stacked' ? 'stacked' : 'default'} maxBarWidth={40} />;
}

/** Width of a digit on the axis, and the space around a label. */
const CHARACTER_PX = 8;
const AROUND_PX = 24;

/**
 * The width that the labels of the vertical axis need. Recharts measures them only once, before live figures grow, and cut
 * "2,000" to "000". Its highest tick may have one digit more than the highest value, and not more.
 */
function axisWidth(rows: ChartProps['rows'], kind: ChartProps['kind'], formatted: (value: number) => string): number {
  const heights = rows.map(({ values }) => {
    const parts = Object.values(values);
    return kind === 'stacked' ? parts.reduce((sum, part) => sum + part, 0) : Math.max(...parts);
  });
  const digits = String(Math.trunc(Math.max(0, ...heights))).length;
  return formatted(10 ** digits).length * CHARACTER_PX + AROUND_PX;
}
