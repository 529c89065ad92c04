import { Stack } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Scale } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, ErrorState, Muted, Section, TableSkeleton } from '../ui/parts.tsx';
import classes from './answers.module.css';
import { CAMPAIGN, type Campaign, isSending } from './campaign.ts';

const POLL_MS = 2000;

type AnswersProps = { readonly campaign: Campaign; readonly results: ResultsQuery };

/** Stages that the recipients reached, from chosen to replied, counted by person and not by message. */
export function Answers({ campaign, results: { data, error, refetch } }: AnswersProps) {
  const { t } = useTranslation('campaigns');
  const funnel = useFunnel(campaign, POLL_MS);
  return (
    <Section
      title={t('answers.title')}
      description={t('answers.hint')}
      actions={
        <ButtonLink
          to="/campaigns/compare"
          search={{ a: campaign.id }}
          variant="default"
          size="xs"
          leftSection={<Scale size={14} />}
        >
          {t('answers.compare')}
        </ButtonLink>
      }
    >
      {data !== undefined && funnel.data !== undefined ? (
        <Stack gap="sm">
          <Stages campaign={campaign} results={data} funnel={funnel.data} />
          {!data.repliesAreComplete && <Muted>{t('answers.incomplete')}</Muted>}
        </Stack>
      ) : error === null ? (
        <TableSkeleton rows={4} />
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}

type StagesProps = {
  readonly campaign: Campaign;
  readonly results: CampaignResults;
  readonly funnel: CampaignFunnel;
};

function Stages({ campaign, results, funnel }: StagesProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const stages = stagesOf(campaign, results, funnel);
  const total = stages[0]?.count ?? 0;
  return (
    <ul className={classes.stages} aria-label={t('answers.title')}>
      {stages.map(({ id, count }) => (
        <li key={id} className={classes.stage}>
          <span>{t(`answers.stage.${id}`)}</span>
          <div className={classes.bar} aria-hidden="true">
            <span style={{ width: `${total === 0 ? 0 : Math.min(100, (count / total) * 100)}%` }} />
          </div>
          <span className={classes.figure}>
            <b>{format.number(count)}</b>
            {total > 0 && ` · ${format.share(count, total)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

type Stage = { readonly id: string; readonly count: number };

/**
 * The people at each stage. Only networks that report it know who has read a message; replies and opt-outs count for
 * the first seven days.
 */
export function stagesOf(
  { totalSuccess, totalSkipped }: Pick<Campaign, 'totalSuccess' | 'totalSkipped'>,
  { replies, optOuts }: Pick<CampaignResults, 'replies' | 'optOuts'>,
  { recipients, waiting, steps }: CampaignFunnel,
): readonly Stage[] {
  const read = steps.reduce((sum, step) => sum + step.read, 0);
  const reportsRead = steps.some(({ channel }) => channel !== 'SMS');
  return [
    { id: 'chosen', count: recipients + totalSkipped },
    { id: 'tried', count: Math.max(0, recipients - waiting) },
    { id: 'delivered', count: totalSuccess },
    ...(reportsRead ? [{ id: 'read', count: read }] : []),
    { id: 'replied', count: replies },
    { id: 'optedOut', count: optOuts },
  ];
}

const RESULTS_POLL_MS = 5000;

const findResults = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${CAMPAIGN}/results`, { params: { path: { id } }, signal }));

const findFunnel = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${CAMPAIGN}/funnel`, { params: { path: { id } }, signal }));

export type CampaignResults = Awaited<ReturnType<typeof findResults>>;
export type CampaignFunnel = Awaited<ReturnType<typeof findFunnel>>;

/** The results by channel; the status is part of the key, so that they are fetched once more when the campaign ends. */
export const useFunnel = ({ id, status, cancelled }: Campaign, pollMs: number) =>
  useQuery({
    queryKey: ['campaign', id, 'funnel', status],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findFunnel(id, signal),
    refetchInterval: isSending({ status }) && !cancelled ? pollMs : false,
  });

/** Reasons of failure, replies, and figures by the minute; refetched while the campaign is being sent. */
export const useResults = ({ id, status }: Campaign) =>
  useQuery({
    queryKey: ['campaign', id, 'results', status],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findResults(id, signal),
    refetchInterval: isSending({ status }) ? RESULTS_POLL_MS : false,
  });

export type ResultsQuery = ReturnType<typeof useResults>;
