import { Alert, Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { CampaignStatus } from '../../ui/values/statuses.tsx';
import { Actions } from './actions.tsx';
import { type Campaign, findCampaign, isDeletable, isEditable, isSending, stateOf } from '../campaign.ts';
import { Figures } from './figures.tsx';
import { Funnel } from './funnel.tsx';
import { Answers } from './results/answers.tsx';
import { Reasons } from './results/reasons.tsx';
import { useResults } from './results/use-results.ts';
import { LifeSteps } from './life-steps.tsx';
import { OverTime } from './over-time.tsx';
import { PlannedGoal } from './planned-goal.tsx';
import { RecipientsTable } from './recipients-table.tsx';
import { Settings } from './settings.tsx';

const SENDING_POLL_MS = 2000;
/** A colleague, or a program by its key, may confirm, change or delete a campaign while its page is open. */
const WAITING_POLL_MS = 10_000;

function pollOf(campaign: Campaign | undefined): number | false {
  if (campaign === undefined) return false;
  if (isSending(campaign)) return SENDING_POLL_MS;
  return isDeletable(campaign) ? WAITING_POLL_MS : false;
}

/** The page of one campaign: status, results and actions. */
export function Page() {
  const { t } = useTranslation('campaigns');
  const params: { readonly id?: string } = useParams({ strict: false });
  const id = Number(params.id);
  const { data, error, refetch } = useQuery({
    queryKey: ['campaign', id],
    queryFn: ({ signal }) => findCampaign(id, signal),
    refetchInterval: ({ state }) => pollOf(state.data),
  });
  const trail = [{ label: t('title'), to: '/campaigns' }];
  if (data === undefined)
    return (
      <Frame title={t('detail.title')} trail={trail}>
        {error === null ? <Waiting /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Frame>
    );
  return (
    <Frame
      title={data.name}
      badge={<CampaignStatus status={stateOf(data)} />}
      description={data.description}
      trail={trail}
      actions={<Actions campaign={data} />}
    >
      <Content campaign={data} />
    </Frame>
  );
}

const Waiting = () => (
  <Stack>
    <Skeleton h={72} />
    <Skeleton h={120} />
    <Skeleton h={320} />
  </Stack>
);

function Content({ campaign }: { readonly campaign: Campaign }) {
  const { failureReason } = campaign;
  return (
    <>
      <LifeSteps campaign={campaign} />
      {failureReason !== null && (
        <Alert color={campaign.paused ? 'amber' : 'red'} icon={<TriangleAlert size={20} />}>
          {failureReason}
        </Alert>
      )}
      {isDeletable(campaign) ? <PlannedGoal campaign={campaign} /> : <Results campaign={campaign} />}
      <Settings campaign={campaign} />
      {(!isEditable(campaign) || campaign.goalCalculatedAt !== null) && <RecipientsTable campaign={campaign} />}
    </>
  );
}

function Results({ campaign }: { readonly campaign: Campaign }) {
  const results = useResults(campaign);
  return (
    <>
      <Figures campaign={campaign} />
      <Answers campaign={campaign} results={results} />
      <Reasons campaign={campaign} results={results} />
      <OverTime campaign={campaign} results={results} />
      <Funnel campaign={campaign} />
    </>
  );
}
