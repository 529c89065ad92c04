import '@mantine/charts/styles.layer.css';
import { AreaChart, BarChart } from '@mantine/charts';
import type { ChartProps } from './chart-props.ts';
import { useFormat } from '../values/format.ts';

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
    yAxisProps: { width: 'auto' as const, allowDecimals: false },
    xAxisProps: { minTickGap: 24 },
  };
  if (kind === 'area') return <AreaChart {...shared} curveType="monotone" withDots={false} fillOpacity={0.15} />;
  return <BarChart {...shared} type={kind === 'stacked' ? 'stacked' : 'default'} maxBarWidth={40} />;
}
