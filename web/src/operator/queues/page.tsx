import { SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { Depths } from './depths.tsx';
import { Figures } from './figures.tsx';
import { MissedSchedules } from './missed.tsx';
import { Pipelines } from './pipelines.tsx';
import { queuesQuery } from './queue.ts';
import { Workers } from './workers.tsx';

/** The page of the queues and workers. */
export function Page() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useQuery(queuesQuery);
  return (
    <Frame title={t('queue.title')} description={t('queue.description')}>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      <Figures queues={data} />
      <MissedSchedules />
      <Depths />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
        <Pipelines queues={data} />
        <Workers queues={data} />
      </SimpleGrid>
    </Frame>
  );
}
