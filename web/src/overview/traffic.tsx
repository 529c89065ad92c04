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

/** Charts of delivered and failed messages by hour and channel. */
export function Traffic({ overview }: { readonly overview: Overview }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const [{ show }, setSearch] = useUrlState(FIELDS);
  const rows = useMemo(() => hoursOf(overview.series, show, format), [overview.series, show, format]);
  const series = CHANNELS.map((name) => ({ name, label: t(`channel.${name}`), color: COLORS[name] }));
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Section
        title={t(`traffic.${show}`)}
        description={t('traffic.description')}
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
        <Chart label={t(`traffic.${show}`)} rowLabel={t('traffic.hour')} rows={rows} series={series} />
      </Section>
      <Section title={t('traffic.byChannel')} description={t('traffic.byChannelNote')}>
        <ByChannel series={overview.series} />
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

/** One chart row per hour, with a value for each channel. */
function hoursOf(series: readonly Point[], show: Counted, format: Format): readonly ChartRow[] {
  const hours = Map.groupBy(series, ({ bucket }) => bucket);
  const isLong = hours.size > 24;
  return [...hours].map(([bucket, points]) => ({
    label: isLong ? format.brief(new Date(bucket)) : format.clock(new Date(bucket)),
    values: Object.fromEntries(points.map((point) => [point.channel, point[show]])),
  }));
}
