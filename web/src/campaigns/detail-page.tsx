import { Alert, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { ArrowDown, Check, CircleDot, CirclePause, CircleX, TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { toIso } from '../api/data.ts';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, ErrorState, Muted, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import {
  CampaignStatus,
  ChannelBadge,
  Countdown,
  DateTime,
  JobProgress,
  Money,
  Num,
  Stat,
  StatusBadge,
} from '../ui/values.tsx';
import { Answers, type CampaignFunnel, useFunnel, useResults } from './answers.tsx';
import {
  type Campaign,
  chainOf,
  findCampaign,
  isDeletable,
  isEditable,
  isFinished,
  isSending,
  stateOf,
  toneOf,
} from './campaign.ts';
import { Actions } from './detail-actions.tsx';
import classes from './funnel.module.css';
import classesLife from './life-steps.module.css';
import { OverTime } from './over-time.tsx';
import { Reasons } from './reasons.tsx';
import { RecipientsTable, Settings } from './recipients-table.tsx';

type FunnelStep = CampaignFunnel['steps'][number];

const POLL_MS = 2000;

/** The results by channel: the number of recipients reached on each, and of those who moved on to the next. */
function Funnel({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const { data, error, refetch } = useFunnel(campaign, POLL_MS);
  const isCombined = chainOf(campaign.sendingMode).length > 1;
  return (
    <Section
      title={t(isCombined ? 'funnel.title' : 'funnel.single')}
      {...(isCombined && { description: t('funnel.hint') })}
    >
      {data !== undefined ? (
        <ol className={classes.funnel}>
          {data.steps.map((step, at) => (
            <Step key={step.step} step={step} recipients={data.recipients} isLast={at === data.steps.length - 1} />
          ))}
        </ol>
      ) : error === null ? (
        <TableSkeleton rows={2} />
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}

type StepProps = { readonly step: FunnelStep; readonly recipients: number; readonly isLast: boolean };

function Step({ step, recipients, isLast }: StepProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { channel, attempted, delivered, read, failed, pending, fellBack, notTried } = step;
  const words = (['delivered', 'failed', 'pending'] as const).map((part) => ({
    part,
    count: { delivered, failed, pending }[part],
  }));
  return (
    <li className={classes.step}>
      <div className={classes.head}>
        <ChannelBadge channel={channel} />
        <Text size="sm" className="tabular">
          {t('funnel.attempted', { count: attempted, shown: format.number(attempted) })}
        </Text>
      </div>
      <Bar
        parts={words}
        total={Math.max(recipients, 1)}
        label={t('funnel.bar', { channel: t(`ui:channel.${channel}`) })}
      />
      <dl className={classes.parts}>
        {words.map(({ part, count }) => (
          <div key={part} data-part={part}>
            <dt>{t(part === 'pending' ? 'funnel.pending' : `figures.${part}`)}</dt>
            <dd>{format.number(count)}</dd>
          </div>
        ))}
        {channel !== 'SMS' && (
          <div>
            <dt>{t('figures.read')}</dt>
            <dd>{format.number(read)}</dd>
          </div>
        )}
      </dl>
      {!isLast && (
        <Text size="sm" c="dimmed" className={classes.on}>
          <ArrowDown size={16} aria-hidden="true" />
          {t('funnel.fellBack', { count: fellBack, shown: format.number(fellBack) })}
        </Text>
      )}
      {notTried > 0 && <Muted>{t('funnel.notTried', { count: notTried, shown: format.number(notTried) })}</Muted>}
    </li>
  );
}

type BarProps = {
  readonly parts: readonly { readonly part: string; readonly count: number }[];
  readonly total: number;
  readonly label: string;
};

/** A bar as wide as the share of all recipients who were tried on this channel. The figures are below it as text. */
const Bar = ({ parts, total, label }: BarProps) => (
  <div className={classes.bar} role="img" aria-label={label}>
    {parts.map(({ part, count }) => (
      <span key={part} data-part={part} style={{ width: `${Math.min(100, (count / total) * 100)}%` }} />
    ))}
  </div>
);

/** Progress, speed, results and cost of a campaign. */
function Figures({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { totalSuccess, totalFailed, totalPending, totalSkipped, estimatedCost, actualCost, currency } = campaign;
  const { totalDeliveredTwice, totalCancelled } = campaign;
  const done = totalSuccess + totalFailed + totalCancelled;
  const total = done + totalPending;
  const share = (count: number): string => (total === 0 ? '' : format.share(count, total));
  return (
    <Section title={t('figures.title')} actions={isSending(campaign) && <Rate campaign={campaign} />}>
      <Stack>
        {total > 0 && (
          <JobProgress
            label={t('figures.progress')}
            done={done}
            total={total}
            secondsLeft={campaign.estimatedSecondsLeft}
            tone={toneOf(campaign)}
          />
        )}
        <SimpleGrid cols={{ base: 2, md: campaign.cancelled ? 6 : 5 }}>
          <Stat label={t('figures.delivered')} value={<Num value={totalSuccess} />} note={share(totalSuccess)} />
          <Stat label={t('figures.failed')} value={<Num value={totalFailed} />} note={share(totalFailed)} />
          <Stat label={t('figures.pending')} value={<Num value={totalPending} />} note={share(totalPending)} />
          {campaign.cancelled && (
            <Stat
              label={t('figures.cancelled')}
              value={<Num value={totalCancelled} />}
              note={t('figures.cancelledNote')}
            />
          )}
          <Stat label={t('figures.skipped')} value={<Num value={totalSkipped} />} note={t('figures.skippedNote')} />
          <Stat
            label={t('figures.cost')}
            value={<Money amount={actualCost} currency={currency} />}
            note={t('figures.estimated', { cost: format.money(estimatedCost, currency) })}
          />
        </SimpleGrid>
        <CostNote campaign={campaign} />
        {totalDeliveredTwice > 0 && (
          <Text size="sm" c="dimmed">
            {t('figures.deliveredTwice', {
              count: totalDeliveredTwice,
              shown: format.number(totalDeliveredTwice),
            })}
          </Text>
        )}
        <SkipReasons skipped={campaign.skipped} />
      </Stack>
    </Section>
  );
}

/** Cost of the campaign compared with its estimate, and of each delivery, once it has ended. */
function CostNote({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { actualCost, estimatedCost, totalSuccess, currency } = campaign;
  if (!isFinished(campaign) || actualCost === null || estimatedCost === null || estimatedCost === 0) return null;
  const perDelivery = totalSuccess === 0 ? null : format.money(actualCost / totalSuccess, currency);
  return (
    <Text size="sm" c="dimmed">
      {t('figures.costOf', { share: format.percent(actualCost / estimatedCost, 0) })}
      {perDelivery !== null && ` ${t('figures.perDelivery', { cost: perDelivery })}`}
    </Text>
  );
}

function Rate({ campaign: { ratePerSecond, paused, cancelled } }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  if (paused || cancelled || ratePerSecond === null) return null;
  return (
    <Text size="sm" c="dimmed" className="tabular">
      {t('figures.rate', { rate: format.number(ratePerSecond, { maximumFractionDigits: 1 }) })}
    </Text>
  );
}

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
      <PageFrame title={t('detail.title')} trail={trail}>
        {error === null ? <Waiting /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </PageFrame>
    );
  return (
    <PageFrame
      title={data.name}
      badge={<CampaignStatus status={stateOf(data)} />}
      description={data.description}
      trail={trail}
      actions={<Actions campaign={data} />}
    >
      <Content campaign={data} />
    </PageFrame>
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

type StepState = 'done' | 'current' | 'paused' | 'bad' | 'todo';
type LifeStep = { readonly id: string; readonly state: StepState; readonly at: string | null };

/** The steps of a campaign's life cycle (specification), and the progress of this one. */
function LifeSteps({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  return (
    <ol className={classesLife.life} aria-label={t('life.label')}>
      {stepsOf(campaign).map(({ id, state, at }) => (
        <li
          key={id}
          className={classesLife.step}
          data-state={state}
          {...(isCurrent(state) && { 'aria-current': 'step' as const })}
        >
          <Sign state={state} />
          <div>
            <Text size="sm" fw={isCurrent(state) ? 500 : 400}>
              {t(`life.${id}`)}
            </Text>
            <Text size="xs" c="dimmed">
              {at === null ? t(`life.state.${state}`) : <DateTime value={at} />}
            </Text>
          </div>
        </li>
      ))}
    </ol>
  );
}

const isCurrent = (state: StepState): boolean => state === 'current' || state === 'paused' || state === 'bad';

const SIGNS = { done: Check, current: CircleDot, paused: CirclePause, bad: CircleX, todo: null } as const;

function Sign({ state }: { readonly state: StepState }) {
  const Icon = SIGNS[state];
  return (
    <span className={classesLife.sign} aria-hidden="true">
      {Icon && <Icon size={18} />}
    </span>
  );
}

function stepsOf(campaign: Campaign): readonly LifeStep[] {
  const { readyToSend, scheduledDate, createdAt, confirmedAt, startedAt } = campaign;
  const state = stateOf(campaign);
  const isReady = readyToSend || confirmedAt !== null;
  return [
    { id: 'draft', state: isReady ? 'done' : 'current', at: createdAt },
    { id: 'ready', state: confirmedAt ? 'done' : isReady ? 'current' : 'todo', at: confirmedAt },
    ...(scheduledDate === null
      ? []
      : [{ id: 'scheduled', state: scheduledState(campaign), at: confirmedAt && toIso(scheduledDate) }]),
    // The time of the pause is not recorded.
    state === 'PAUSED'
      ? { id: 'paused', state: 'paused', at: null }
      : { id: 'sending', state: sendingState(campaign), at: startedAt },
    lastOf(campaign),
  ];
}

const scheduledState = (campaign: Campaign): StepState =>
  isEditable(campaign) ? 'todo' : isDeletable(campaign) && !campaign.paused ? 'current' : 'done';

function sendingState(campaign: Campaign): StepState {
  if (isFinished(campaign)) return 'done';
  return isSending(campaign) && !campaign.cancelled ? 'current' : isSending(campaign) ? 'done' : 'todo';
}

function lastOf(campaign: Campaign): LifeStep {
  const state = stateOf(campaign);
  const at = campaign.completedAt;
  if (state === 'FAILED') return { id: 'failed', state: 'bad', at };
  if (state === 'CANCELLED') return { id: 'cancelled', state: 'bad', at };
  return { id: 'completed', state: state === 'COMPLETED' ? 'done' : 'todo', at };
}

/** Before the start: recipients, estimated cost, start time or the next step. */
function PlannedGoal({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const { id, goalCalculatedAt, totalDestinations, totalSkipped, estimatedCost, currency, scheduledDate } = campaign;
  const isCounted = goalCalculatedAt !== null;
  return (
    <Section title={t('planned.title')}>
      <Stack>
        <SimpleGrid cols={{ base: 2, md: 4 }}>
          <Stat label={t('goal.recipients')} value={<Num value={isCounted ? totalDestinations : null} />} />
          <Stat label={t('goal.skipped')} value={<Num value={isCounted ? totalSkipped : null} />} />
          <Stat
            label={t('goal.price')}
            value={isCounted ? <Money amount={estimatedCost} currency={currency} /> : '–'}
            note={t(isEditable(campaign) ? 'goal.priceNote' : 'planned.frozen')}
          />
          <Stat
            label={t('planned.start')}
            value={
              scheduledDate === null ? t('planned.atOnce') : <DateTime value={toIso(scheduledDate)} show="exact" />
            }
            {...(scheduledDate !== null &&
              !isEditable(campaign) && { note: <Countdown to={toIso(scheduledDate)} ended={t('planned.starting')} /> })}
          />
        </SimpleGrid>
        {isCounted && <SkipReasons skipped={campaign.skipped} overWeeklyCap={campaign.overWeeklyCap} />}
        {isEditable(campaign) && (
          <Group justify="space-between">
            <Muted>{t(isCounted ? 'planned.toConfirm' : 'planned.toCount')}</Muted>
            <ButtonLink to="/campaigns/editor" search={{ id, step: 'review' }}>
              {t('planned.review')}
            </ButtonLink>
          </Group>
        )}
      </Stack>
    </Section>
  );
}

const REASONS = ['invalid', 'unsupported', 'optedOut', 'text', 'noRoute', 'noPrice', 'duplicate'] as const;

/** The reasons for skipped recipients, with counts; reasons without recipients are omitted. */
function SkipReasons({
  skipped,
  overWeeklyCap = 0,
}: Pick<Campaign, 'skipped'> & Partial<Pick<Campaign, 'overWeeklyCap'>>) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const found = REASONS.filter((reason) => (skipped?.[reason] ?? 0) > 0);
  const over = overWeeklyCap ?? 0;
  if (found.length === 0 && over === 0) return null;
  return (
    <Group gap="xs">
      <Muted>{t('goal.why')}</Muted>
      {found.map((reason) => (
        <StatusBadge key={reason} tone={reason === 'duplicate' ? 'neutral' : 'warning'}>
          {t(`skipped.${reason}`, { count: skipped?.[reason], shown: format.number(skipped?.[reason] ?? 0) })}
        </StatusBadge>
      ))}
      {over > 0 && (
        <StatusBadge tone="warning">
          {t('skipped.overWeeklyCap', { count: over, shown: format.number(over) })}
        </StatusBadge>
      )}
    </Group>
  );
}
