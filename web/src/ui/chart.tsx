import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { ChartLine, Table2 } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import type { ChartProps } from './lazy-props.ts';
import { useFormat } from './format.ts';
import { SmallTable } from './small-table.tsx';

/** Recharts is 117 kB, so it is loaded with the first chart. */
const Drawing = lazyPart(() => import('./chart-drawing.tsx').then(({ ChartDrawing }) => ({ default: ChartDrawing })));

/** A chart, which can also be shown as a table. */
export function Chart(props: ChartProps) {
  const { t } = useTranslation('ui');
  const [isTable, setIsTable] = useState(false);
  const { label, height = 260 } = props;
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Legend series={props.series} />
        <Button
          variant="subtle"
          color="gray"
          size="compact-xs"
          leftSection={isTable ? <ChartLine size={14} /> : <Table2 size={14} />}
          onClick={() => setIsTable(!isTable)}
        >
          {t(isTable ? 'chart.asChart' : 'chart.asTable')}
        </Button>
      </Group>
      {isTable ? (
        <Figures {...props} />
      ) : (
        <Suspense fallback={<Skeleton h={height} />}>
          <div role="img" aria-label={`${label}. ${t('chart.hint')}`} style={{ overflowX: 'clip' }}>
            <Drawing {...props} />
          </div>
        </Suspense>
      )}
    </Stack>
  );
}

const Legend = ({ series }: Pick<ChartProps, 'series'>) => (
  <Group gap="md">
    {series.map(({ name, label, color }) => (
      <Group key={name} gap={6}>
        <svg width="10" height="10" aria-hidden="true">
          <circle cx="5" cy="5" r="5" fill={`var(--mantine-color-${color.replace('.', '-')})`} />
        </svg>
        <Text size="xs">{label}</Text>
      </Group>
    ))}
  </Group>
);

function Figures({ label, rowLabel, rows, series, height = 260 }: ChartProps) {
  const format = useFormat();
  return (
    <SmallTable
      label={label}
      maxHeight={height}
      rows={rows}
      rowId={(row) => row.label}
      columns={[
        { id: 'label', header: rowLabel, cell: (row) => row.label },
        ...series.map(({ name, label: header }) => ({
          id: name,
          header,
          align: 'right' as const,
          cell: (row: (typeof rows)[number]) => format.number(row.values[name] ?? 0),
        })),
      ]}
    />
  );
}
