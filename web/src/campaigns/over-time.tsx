import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { Chart } from '../ui/chart.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Section, TableSkeleton } from '../ui/parts.tsx';
import type { CampaignResults, ResultsQuery } from './answers.tsx';
import { CAMPAIGN, type Campaign, isSending } from './campaign.ts';

const DAY_MS = 86_400_000;
/** Longer periods are shown by day. */
const MAX_HOURLY_MS = 4 * DAY_MS;
const MAX_BUCKETS = 1000;
const POLL_MS = 10_000;

type Unit = 'hour' | 'day';

type OverTimeProps = { readonly campaign: Campaign; readonly results: ResultsQuery };

/** A chart of the results over time, by the minute while it runs; for older campaigns the figures by hour. */
export function OverTime({ campaign, results: { data, error, refetch } }: OverTimeProps) {
  const { t } = useTranslation('campaigns');
  if (data === undefined)
    return (
      <Section title={t('overTime.title')}>
        {error === null ? <TableSkeleton rows={3} /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Section>
    );
  return data.steps.length > 0 ? <ByMinute results={data} /> : <ByHour campaign={campaign} />;
}

function ByMinute({ results }: { readonly results: CampaignResults }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { steps, stepSeconds } = results;
  const isLong = stepSeconds >= 3600;
  const rows = useMemo(
    () =>
      filled(steps, stepSeconds).map(({ at, sent, delivered, failed }) => ({
        label: isLong ? format.brief(at) : format.clock(at),
        values: { sent, delivered, failed },
      })),
    [steps, stepSeconds, isLong, format],
  );
  return (
    <Section title={t('overTime.title')} description={t('overTime.minuteHint', { step: format.duration(stepSeconds) })}>
      <Chart
        label={t('overTime.title')}
        rowLabel={t('overTime.time')}
        rows={rows}
        series={[
          { name: 'sent', label: t('overTime.sent'), color: 'blue.4' },
          { name: 'delivered', label: t('figures.delivered'), color: 'green.6' },
          { name: 'failed', label: t('figures.failed'), color: 'red.6' },
        ]}
        kind="bars"
        height={220}
      />
    </Section>
  );
}

const MAX_STEPS = 120;

/** The steps with the empty ones between them, so that the axis is a time; a few if it is only one. */
function filled(steps: CampaignResults['steps'], stepSeconds: number) {
  const stepMs = stepSeconds * 1000;
  const known = new Map(steps.map((step) => [Date.parse(step.at), step]));
  const [first, last] = [Math.min(...known.keys()), Math.max(...known.keys())];
  const count = Math.min(MAX_STEPS, Math.round((last - first) / stepMs) + 1);
  return Array.from({ length: count }, (_, n) => {
    const at = first + n * stepMs;
    const { sent = 0, delivered = 0, failed = 0 } = known.get(at) ?? {};
    return { at: new Date(at), sent, delivered, failed };
  });
}

const listBuckets = (id: number, aggregateOn: Unit, signal: AbortSignal) =>
  ok(
    api.GET(`${CAMPAIGN}/stats`, {
      params: { path: { id }, query: { aggregateOn, direction: 'ASC', page: 0, limit: MAX_BUCKETS } },
      signal,
    }),
  );

function unitOf({ startedAt, completedAt }: Campaign): Unit {
  if (startedAt === null) return 'hour';
  const end = completedAt === null ? Date.now() : Date.parse(completedAt);
  return end - Date.parse(startedAt) > MAX_HOURLY_MS ? 'day' : 'hour';
}

/** A chart of the campaign's messages by creation time, with their outcome. */
function ByHour({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const unit = unitOf(campaign);
  const { data, error, refetch } = useQuery({
    // The status is part of the key, so that the data is refetched once when the campaign ends.
    queryKey: ['campaign', campaign.id, 'stats', unit, campaign.status],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => listBuckets(campaign.id, unit, signal),
    refetchInterval: isSending(campaign) ? POLL_MS : false,
  });
  const rows = useRows(data?.data, unit);
  const series = [
    { name: 'delivered', label: t('figures.delivered'), color: 'green.6' },
    { name: 'failed', label: t('figures.failed'), color: 'red.6' },
    { name: 'pending', label: t('funnel.pending'), color: 'blue.4' },
  ];
  if (data !== undefined && rows.every(({ values }) => sum(values) === 0)) return null;
  return (
    <Section title={t('overTime.title')} description={t('overTime.hint')}>
      {data !== undefined ? (
        <Chart
          label={t('overTime.title')}
          rowLabel={t(`overTime.${unit}`)}
          rows={rows}
          series={series}
          kind="stacked"
          height={220}
        />
      ) : error === null ? (
        <TableSkeleton rows={3} />
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}

const sum = ({ delivered, failed, pending }: { delivered: number; failed: number; pending: number }): number =>
  delivered + failed + pending;

type Buckets = Awaited<ReturnType<typeof listBuckets>>['data'];

function useRows(buckets: Buckets | undefined, unit: Unit) {
  const format = useFormat();
  return useMemo(
    () =>
      (buckets ?? []).map(({ bucket, delivered, failed, pending }) => ({
        label: unit === 'day' ? format.day(new Date(bucket)) : format.brief(new Date(bucket)),
        values: { delivered, failed, pending },
      })),
    [buckets, unit, format],
  );
}
