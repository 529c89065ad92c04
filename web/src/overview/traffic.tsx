import { SegmentedControl, SimpleGrid } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Chart } from '../ui/chart/chart.tsx';
import type { ChartRow } from '../ui/chart/chart-props.ts';
import { type Format, useFormat } from '../ui/values/format.ts';
import { Section } from '../ui/section.tsx';
import { choice, useUrlState } from '../ui/url-state.ts';
import type { Overview } from './overview.ts';

const CHANNELS = ['SMS', 'WHATSAPP', 'RCS'] as const;
const COLORS = { SMS: 'blue.6', WHATSAPP: 'green.6', RCS: 'violet.6' } as const;
const FIELDS = { show: choice(['delivered', 'failed'], 'delivered') };

type Counted = 'delivered' | 'failed';
type Point = Overview['series'][number];
type TrafficProps = { readonly series: readonly Point[]; readonly unit: 'hour' | 'day' };

/** Charts of delivered and failed messages by hour or day, and by channel. */
export function Traffic({ series: points, unit }: TrafficProps) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const [{ show }, setSearch] = useUrlState(FIELDS);
  const rows = useMemo(() => rowsOf(points, { show, unit, format }), [points, show, unit, format]);
  const series = CHANNELS.map((name) => ({ name, label: t(`channel.${name}`), color: COLORS[name] }));
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Section
        title={t(`traffic.by.${unit}.${show}`)}
        description={t(`traffic.by.${unit}.description`)}
        actions={
          <SegmentedControl
            size="xs"
            aria-label={t('traffic.show')}
            value={show}
            onChange={(chosen) => setSearch({ show: chosen === 'failed' ? 'failed' : 'delivered' })}
            data={(['delivered', 'failed'] as const).map((value) => ({ value, label: t(`traffic.short.${value}`) }))}
          />
        }
      >
        <Chart
          label={t(`traffic.by.${unit}.${show}`)}
          rowLabel={t(`traffic.by.${unit}.label`)}
          rows={rows}
          series={series}
        />
      </Section>
      <Section title={t('traffic.byChannel')} description={t('traffic.byChannelNote')}>
        <ByChannel series={points} />
      </Section>
    </SimpleGrid>
  );
}

function ByChannel({ series }: { readonly series: readonly Point[] }) {
  const { t } = useTranslation('overview');
  const rows = useMemo(
    () =>
      CHANNELS.map((channel) => {
        const own = series.filter((point) => point.channel === channel);
        const sum = (name: Counted) => own.reduce((total, point) => total + point[name], 0);
        return { label: t(`channel.${channel}`), values: { delivered: sum('delivered'), failed: sum('failed') } };
      }),
    [series, t],
  );
  const outcomes = [
    { name: 'delivered', label: t('traffic.short.delivered'), color: 'green.6' },
    { name: 'failed', label: t('traffic.short.failed'), color: 'red.6' },
  ];
  return (
    <Chart
      label={t('traffic.byChannel')}
      rowLabel={t('traffic.channel')}
      rows={rows}
      series={outcomes}
      kind="stacked"
    />
  );
}

type Drawn = { readonly show: Counted; readonly unit: 'hour' | 'day'; readonly format: Format };

/** One chart row per hour or day, with a value for each channel. */
function rowsOf(series: readonly Point[], { show, unit, format }: Drawn): readonly ChartRow[] {
  const buckets = Map.groupBy(series, ({ bucket }) => bucket);
  const write = unit === 'day' ? format.dayUtc : buckets.size > 24 ? format.brief : format.clock;
  return [...buckets].map(([bucket, points]) => ({
    label: write(new Date(bucket)),
    values: Object.fromEntries(points.map((point) => [point.channel, point[show]])),
  }));
}
