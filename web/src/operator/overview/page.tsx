import { SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { AttentionList } from './attention.tsx';
import { ChannelFigures } from './channels.tsx';
import { Connections } from './connections.tsx';
import { FenceAlert } from './fence-alert.tsx';
import { Figures } from './figures.tsx';
import { overviewQuery } from './overview.ts';
import { PauseButton } from './pause-button.tsx';
import { Top } from './top.tsx';
import { Traffic } from './traffic.tsx';

/** The gateway page: the state of the whole gateway, and the items that need attention. */
export function Page() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useQuery(overviewQuery);
  return (
    <Frame
      title={t('overview.title')}
      description={t('overview.description')}
      actions={data && !data.fence.paused && <PauseButton />}
    >
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data?.fence.paused && <FenceAlert fence={data.fence} />}
      {(data || !error) && <Figures overview={data} />}
      {data === undefined && !error && <TableSkeleton rows={8} />}
      {data && (
        <>
          <AttentionList attention={data.attention} />
          <Traffic series={data.series} />
          <Connections connections={data.connections} />
          <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
            <ChannelFigures channels={data.channels} />
            <Top top={data.top} />
          </SimpleGrid>
        </>
      )}
    </Frame>
  );
}
