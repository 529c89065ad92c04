import { BarChart, ChartTooltip, LineChart } from '@mantine/charts';
import type { ComponentProps } from 'react';
import type { ChartProps } from './lazy-props.ts';
import { useFormat } from './format.ts';
import '@mantine/charts/styles.layer.css';

/** The drawing of `Chart`, loaded on demand. */
export function ChartDrawing({ rows, series, kind = 'line', height = 260, isPartial = false }: ChartProps) {
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
  if (kind === 'line') return <Lines {...shared} rows={rows} isPartial={isPartial && rows.length > 2} />;
  return <BarChart {...shared} type={kind === 'stacked' ? 'stacked' : 'default'} maxBarWidth={40} />;
}

/** The end of the name of a series for the part that is still growing. */
const GROWING = ' …';

type LinesProps = Omit<ComponentProps<typeof LineChart>, 'data'> & Pick<ChartProps, 'rows'> & { isPartial: boolean };

/** Lines; from the last whole point to one that is still growing, they are dashed. */
function Lines({ rows, isPartial, series, ...rest }: LinesProps) {
  const last = rows.length - 1;
  const data = rows.map(({ label, values }, at) => {
    if (!isPartial) return { label, ...values };
    const growing = Object.entries(values).map(([name, value]) => [`${name}${GROWING}`, value]);
    return { label, ...(at < last && values), ...(at >= last - 1 && Object.fromEntries(growing)) };
  });
  const dashed = series.map((each) => ({ ...each, name: `${each.name}${GROWING}`, strokeDasharray: '4 4' }));
  return (
    <LineChart
      {...rest}
      data={data}
      series={isPartial ? [...series, ...dashed] : series}
      curveType="monotone"
      withDots={false}
      tooltipProps={{
        content: ({ label, payload }) => (
          <ChartTooltip
            label={String(label)}
            series={[...series]}
            valueFormatter={rest.valueFormatter}
            payload={payload
              .filter(({ dataKey }, at) => at === payload.findIndex((each) => nameOf(each.dataKey) === nameOf(dataKey)))
              .map((each) => ({ ...each, name: nameOf(each.dataKey), dataKey: nameOf(each.dataKey) }))}
          />
        ),
      }}
    />
  );
}

const nameOf = (key: unknown): string => String(key).replace(GROWING, '');

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
