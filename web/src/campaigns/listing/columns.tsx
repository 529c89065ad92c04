import { Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Money } from '../../ui/values/money.tsx';
import { Num } from '../../ui/values/num.tsx';
import { JobProgress } from '../../ui/values/progress.tsx';
import { CampaignStatus, Channels } from '../../ui/values/statuses.tsx';
import { type Campaign, chainOf, isDeletable, stateOf, toneOf } from '../campaign.ts';
import { toIso } from '../../api/scheduled-date.ts';

export function useCampaignColumns(): readonly Column<Campaign>[] {
  const { t } = useTranslation('campaigns');
  return useMemo(
    () => [
      { id: 'name', header: t('column.name'), phone: 'title', cell: (campaign) => <Name {...campaign} /> },
      { id: 'status', header: t('column.status'), cell: (campaign) => <CampaignStatus status={stateOf(campaign)} /> },
      {
        id: 'channels',
        header: t('column.channels'),
        cell: ({ sendingMode }) => <Channels channels={chainOf(sendingMode)} />,
      },
      {
        id: 'totalDestinations',
        header: t('column.recipients'),
        align: 'right',
        cell: (campaign) => <Num value={recipientsOf(campaign)} />,
      },
      {
        id: 'progress',
        header: t('column.progress'),
        width: 150,
        phone: 'none',
        cell: (campaign) => <Progress campaign={campaign} />,
      },
      {
        id: 'cost',
        header: t('column.cost'),
        align: 'right',
        cell: (campaign) => <Cost campaign={campaign} />,
      },
      {
        id: 'when',
        header: t('column.when'),
        cell: (campaign) => <When campaign={campaign} />,
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        sortable: true,
        phone: 'none',
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
    ],
    [t],
  );
}

/** The number of recipients; null until they have been counted. */
const recipientsOf = ({ goalCalculatedAt, totalDestinations }: Campaign): number | null =>
  goalCalculatedAt === null ? null : totalDestinations;

function Name({ id, name, description }: Pick<Campaign, 'id' | 'name' | 'description'>) {
  return (
    <Stack gap={2} miw={190} maw={360}>
      <TextLink to={`/campaigns/${id}`} fw={600} lineClamp={2} className="foreign-text">
        <bdi>{name}</bdi>
      </TextLink>
      {description !== '' && (
        <Text size="xs" c="dimmed" fw={400} lineClamp={1} className="foreign-text" dir="auto">
          {description}
        </Text>
      )}
    </Stack>
  );
}

function Progress({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  if (isDeletable(campaign)) return <span>–</span>;
  const label = t('column.progressOf', { name: campaign.name });
  return <JobProgress compact label={label} done={campaign.progress} total={1} tone={toneOf(campaign)} />;
}

function Cost({ campaign }: { readonly campaign: Campaign }) {
  const { estimatedCost, actualCost, currency, goalCalculatedAt } = campaign;
  if (!isDeletable(campaign)) return <Money amount={actualCost} currency={currency} />;
  return goalCalculatedAt === null ? <span>–</span> : <Money amount={estimatedCost} currency={currency} />;
}

function When({ campaign: { scheduledDate, startedAt } }: { readonly campaign: Campaign }) {
  const value = startedAt ?? (scheduledDate && toIso(scheduledDate));
  return <DateTime value={value} />;
}
