import { SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Cable, Gauge, Hourglass, ListOrdered } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../../ui/error-state.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { Num } from '../../../ui/values/num.tsx';
import { Section } from '../../../ui/section.tsx';
import { Stat } from '../../../ui/values/stat.tsx';
import { TableSkeleton } from '../../../ui/table/table-skeleton.tsx';
import { ActiveSeriesChart } from '../../shared/active-series-chart.tsx';
import { type Connection, minutesQuery } from '../connection.ts';
import { Links } from '../state.tsx';

/** The current figures of the connection. */
export function Figures({ connection }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { perSecond, rateLimit, inFlight, window, workers, queued, oldestSeconds } = connection;
  const agreed =
    rateLimit === null
      ? t('connection.noAgreedRate')
      : t('connection.agreedRate', { agreed: format.number(rateLimit) });
  const most =
    window === null ? undefined : t('connection.windowOf', { all: format.number(window * Math.max(1, workers)) });
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }}>
      <Stat
        label={t('perSecond')}
        value={<Num value={perSecond} options={{ maximumFractionDigits: 1 }} />}
        note={agreed}
        icon={Gauge}
      />
      <Stat label={t('connection.window')} value={<Num value={inFlight} />} note={most} icon={Hourglass} />
      <Stat
        label={t('connection.linksUp')}
        value={<Links connection={connection} />}
        note={t('connection.workers', { count: workers })}
        icon={Cable}
      />
      <Stat
        label={t('waiting')}
        value={<Num value={queued} />}
        note={
          queued > 0 ? t('connection.oldest', { age: format.duration(oldestSeconds) }) : t('connection.nothingWaits')
        }
        icon={ListOrdered}
      />
    </SimpleGrid>
  );
}

/** A chart of the carrier's responses per minute. */
export function Minutes({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { data, error, refetch } = useQuery(minutesQuery(name));
  const rows = useMemo(
    () => (data?.data ?? []).map(({ minute, ...values }) => ({ label: format.clock(new Date(minute)), values })),
    [data, format],
  );
  const series = [
    { name: 'accepted', label: t('connection.accepted'), color: 'green.6' },
    { name: 'refused', label: t('connection.refused'), color: 'red.5' },
    { name: 'retried', label: t('connection.retried'), color: 'amber.5' },
    { name: 'unknown', label: t('connection.unanswered'), color: 'violet.5' },
  ];
  return (
    <Section title={t('connection.lastHour')} description={t('connection.lastHourHint')}>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <TableSkeleton rows={4} />}
      {data && (
        <ActiveSeriesChart
          label={t('connection.lastHour')}
          rowLabel={t('minute')}
          rows={rows}
          series={series}
          height={220}
        />
      )}
    </Section>
  );
}
