import { SegmentedControl, SimpleGrid } from '@mantine/core';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { updateCredit } from '../api/data.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { Chart } from '../ui/chart.tsx';
import { numberColumn } from '../ui/columns.tsx';
import type { ChartRow } from '../ui/lazy-props.ts';
import { type Format, useFormat } from '../ui/format.ts';
import { Section } from '../ui/parts.tsx';
import { type SmallColumn, SmallTable } from '../ui/small-table.tsx';
import { choice, useUrlState } from '../ui/url-state.ts';
import { ChannelBadge, Money, Percent } from '../ui/values.tsx';

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
          isPartial
        />
      </Section>
      <Section title={t('traffic.byChannel')} description={t('traffic.byChannelNote')}>
        <ByChannel series={points} />
      </Section>
    </SimpleGrid>
  );
}

type Sums = {
  readonly sent: number;
  readonly delivered: number;
  readonly failed: number;
  readonly cost: number | null;
};

/** The share of messages with a final status that were delivered; null without any. */
export const rateOf = ({ delivered, failed }: Pick<Sums, Counted>): number | null =>
  delivered + failed === 0 ? null : delivered / (delivered + failed);

/** The figures of each channel on which something was sent. */
function ByChannel({ series }: { readonly series: readonly Point[] }) {
  const { t } = useTranslation('overview');
  const { account } = useSession();
  const rows = CHANNELS.map((channel) => {
    const own = series.filter((point) => point.channel === channel);
    const sum = (of: (point: Point) => number | null) => own.reduce((total, point) => total + (of(point) ?? 0), 0);
    return {
      channel,
      sent: sum(({ sent }) => sent),
      delivered: sum(({ delivered }) => delivered),
      failed: sum(({ failed }) => failed),
      cost: own.some(({ cost }) => cost === null) ? null : sum(({ cost }) => cost),
    };
  }).filter(({ sent, failed }) => sent + failed > 0);
  type Row = (typeof rows)[number];
  const columns: readonly SmallColumn<Row>[] = [
    { id: 'channel', header: t('traffic.channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
    numberColumn('sent', t('period.sent')),
    {
      id: 'delivered',
      header: t('traffic.short.delivered'),
      align: 'right',
      cell: (row) => <Percent share={rateOf(row)} />,
    },
    numberColumn('failed', t('traffic.short.failed')),
    {
      id: 'cost',
      header: t('period.cost'),
      align: 'right',
      cell: ({ cost }) => <Money amount={cost} currency={account.currency} />,
    },
  ];
  return <SmallTable label={t('traffic.byChannel')} columns={columns} rows={rows} rowId={({ channel }) => channel} />;
}

type ChangeProps = {
  readonly now: number;
  readonly before: number;
  /** What it is compared with: a key of the texts. */
  readonly label?: 'period.change' | 'figure.yesterday';
};

/** The earlier value, and the change since then. */
export function Change({ now, before, label = 'period.change' }: ChangeProps) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const share = before === 0 ? '–' : format.change((now - before) / before);
  return t(label, { value: format.number(before), change: share });
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

/** Poll interval while the page is open. */
const REFRESH_MS = 5_000;

/** The overview of the account over the last `hours`. The header shows the credit that it brings, too. */
export const overviewQuery = (hours: number) =>
  queryOptions({
    queryKey: ['overview', hours],
    queryFn: async ({ client, signal }) => {
      const overview = await ok(api.GET('/api/partner-gateway/v1/overview', { params: { query: { hours } }, signal }));
      if (overview.credit) updateCredit(client, overview.credit.available);
      return overview;
    },
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });

export type Overview = Awaited<ReturnType<NonNullable<ReturnType<typeof overviewQuery>['queryFn']>>>;
export type Attention = Overview['attention'][number];
export type RunningCampaign = Overview['campaigns'][number];

/** The figures of a period of days, and of the equally long period before. */
export const periodQuery = ({ from, to }: Days) =>
  queryOptions({
    queryKey: ['overview', 'period', from, to],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/api/partner-gateway/v1/overview/period', {
          params: { query: { startDate: from, endDate: to } },
          signal,
        }),
      ),
  });

export type Period = Awaited<ReturnType<NonNullable<ReturnType<typeof periodQuery>['queryFn']>>>;

/** Setup steps with their state. */
export const firstStepsQuery = queryOptions({
  queryKey: ['overview', 'first-steps'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/overview/first-steps', { signal })),
  refetchInterval: 2 * REFRESH_MS,
});

export type FirstSteps = Awaited<ReturnType<NonNullable<(typeof firstStepsQuery)['queryFn']>>>;

const DAY_MS = 86_400_000;

/** A period of days as they stand in the URL and in date fields: yyyy-MM-dd, UTC, both inclusive. */
export type Days = { readonly from: string; readonly to: string };

const isDay = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The last `count` days up to and with today. */
export const lastDays = (count: number, now: number): Days => ({
  from: dayAt(now - (count - 1) * DAY_MS),
  to: dayAt(now),
});

/** The calendar month of a time, or one before it. */
export function monthOf(now: number, monthsBefore: number): Days {
  const at = new Date(now);
  const first = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - monthsBefore, 1);
  const next = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - monthsBefore + 1, 1);
  return { from: dayAt(first), to: dayAt(next - DAY_MS) };
}

/** The days that the URL names, in order; the last 30 if it names none. */
export function readDays({ from, to }: Days, now: number): Days {
  if (!isDay(from) || !isDay(to)) return lastDays(30, now);
  return from <= to ? { from, to } : { from: to, to: from };
}
