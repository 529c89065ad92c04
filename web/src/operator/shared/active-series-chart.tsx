import { Text } from '@mantine/core';
import type { ComponentProps } from 'react';
import { useTranslation } from 'react-i18next';
import { Chart } from '../../ui/chart/chart.tsx';

/** A chart without series that are all zero, which would overlap on the axis. */
export function ActiveSeriesChart(props: ComponentProps<typeof Chart>) {
  const { t } = useTranslation('operator');
  const series = props.series.filter(({ name }) => props.rows.some(({ values }) => (values[name] ?? 0) > 0));
  if (series.length > 0) return <Chart {...props} series={series} />;
  return (
    <Text size="sm" c="dimmed">
      {t('quiet')}
    </Text>
  );
}
