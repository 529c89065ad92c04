import { SegmentedControl } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../ui/error-state.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { lazyPart } from '../api/connection/lazy-part.ts';
import { choice, useUrlState } from '../ui/url-state.ts';
import { NeedsAttention } from './attention.tsx';
import { Campaigns } from './campaigns.tsx';
import { Figures } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { type Overview, overviewQuery } from './overview.ts';
import { Traffic } from './traffic.tsx';

const RANGES = ['24', '72', '168', 'period'] as const;
const FIELDS = { hours: choice(RANGES, '24') };

const LazyPeriod = lazyPart(() => import('./period.tsx').then((file) => ({ default: file.Period })));

/** The overview page: figures, traffic by channel, campaigns, and items that need attention. */
export function Page() {
  const { t } = useTranslation('overview');
  const [search, setSearch] = useUrlState(FIELDS);
  const range = (
    <SegmentedControl
      aria-label={t('range.label')}
      value={search.hours}
      onChange={(hours) => setSearch({ hours: RANGES.find((each) => each === hours) ?? '24' })}
      data={RANGES.map((value) => ({ value, label: t(`range.${value}`) }))}
    />
  );
  return (
    <Frame title={t('title')} actions={range}>
      {search.hours === 'period' ? (
        <Suspense>
          <LazyPeriod />
        </Suspense>
      ) : (
        <Now hours={Number(search.hours)} />
      )}
    </Frame>
  );
}

function Now({ hours }: { readonly hours: number }) {
  const { data, error, refetch } = useQuery(overviewQuery(hours));
  return (
    <>
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {(data || !error) && <Figures overview={data} />}
      {data && <Parts overview={data} />}
    </>
  );
}

function Parts({ overview }: { readonly overview: Overview }) {
  const isNew = overview.series.every(({ sent, failed }) => sent + failed === 0);
  return (
    <>
      <NeedsAttention items={overview.attention} />
      <FirstSteps />
      {!isNew && <Traffic unit="hour" series={overview.series} />}
      <Campaigns campaigns={overview.campaigns} />
    </>
  );
}
