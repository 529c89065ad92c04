import { Button, Group, Paper, SegmentedControl, SimpleGrid, Stack, Text, VisuallyHidden } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Activity, Circle, CircleCheck, CircleX, Coins, MailCheck, Send, X } from 'lucide-react';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { type Need, useSession } from '../api/session.ts';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, ErrorState, Muted, PageFrame, Section, TextLink } from '../ui/parts.tsx';
import { choice, useUrlState } from '../ui/url-state.ts';
import { CampaignStatus, DateTime, JobProgress, Money, Num, Percent, Stat, StatusBadge } from '../ui/values.tsx';
import {
  type Attention,
  Change,
  type FirstSteps as Done,
  firstStepsQuery,
  type Overview,
  overviewQuery,
  type RunningCampaign,
  Traffic,
} from './traffic.tsx';

type Step = { readonly name: keyof Done; readonly to: string; readonly need: Need };

const STEPS: readonly Step[] = [
  { name: 'connection', to: '/operator/connections/new', need: { operator: true } },
  { name: 'prices', to: '/operator/prices', need: { operator: true } },
  { name: 'key', to: '/api-keys', need: { scope: 'keys', write: true } },
  { name: 'message', to: '/send', need: { write: true } },
  { name: 'webhook', to: '/webhooks', need: { scope: 'webhooks', write: true } },
  { name: 'contacts', to: '/contacts/import', need: { scope: 'contacts', write: true } },
  { name: 'campaign', to: '/campaigns/editor', need: { scope: 'campaigns', write: true } },
];

/** The number of open steps that take one line. */
const FEW = 2;

/**
 * The steps of setting up, each ticked when it is done, until all are done or the user hides them; the last ones take
 * one line. Steps reserved for other users are shown as long as they are open.
 */
function FirstSteps() {
  const { t } = useTranslation('overview');
  const { account, user, may } = useSession();
  const [isHidden, setHidden] = useLocalStorage({
    key: `heliograph-first-steps-${account.id}-${user.username}`,
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const { data } = useQuery({ ...firstStepsQuery, enabled: !isHidden });
  const steps = STEPS.filter(({ name, need }) => may(need) || (need.operator && data?.[name] === false));
  const own = steps.filter(({ need }) => may(need));
  if (isHidden || data === undefined || own.every(({ name }) => data[name])) return null;
  const open = own.filter(({ name }) => !data[name]);
  const [next] = open;
  const hide = (
    <Button variant="subtle" color="gray" size="xs" leftSection={<X size={14} />} onClick={() => setHidden(true)}>
      {t('first.hide')}
    </Button>
  );
  if (next !== undefined && open.length <= FEW)
    return (
      <Paper component="section" px="lg" py="xs" aria-label={t('first.title')}>
        <Group justify="space-between" gap="xs" data-step={next.name}>
          <Text size="sm">{t('first.left', { count: open.length, step: t(`first.${next.name}.title`) })}</Text>
          <Group gap="xs">
            <ButtonLink to={next.to} size="xs" variant="default">
              {t(`first.${next.name}.go`)}
            </ButtonLink>
            {hide}
          </Group>
        </Group>
      </Paper>
    );
  return (
    <Section
      title={t('first.title')}
      description={t('first.done', { done: own.length - open.length, count: own.length })}
      actions={hide}
    >
      <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {steps.map((step) => (
          <StepLine key={step.name} step={step} isDone={data[step.name]} isNext={step === next} />
        ))}
      </Stack>
    </Section>
  );
}

type StepLineProps = { readonly step: Step; readonly isDone: boolean; readonly isNext: boolean };

function StepLine({ step: { name, to, need }, isDone, isNext }: StepLineProps) {
  const { t } = useTranslation('overview');
  const mayDo = useSession().may(need);
  const Sign = isDone ? CircleCheck : Circle;
  return (
    <Group component="li" gap="sm" wrap="nowrap" align="flex-start" data-step={name} data-done={isDone}>
      <Sign
        size={20}
        aria-hidden="true"
        color={isDone ? 'var(--mantine-color-green-6)' : 'var(--mantine-color-dimmed)'}
        style={{ flexShrink: 0, marginTop: 2 }}
      />
      <Group justify="space-between" gap="xs" style={{ flexGrow: 1 }}>
        <div style={{ flex: '1 1 240px', minWidth: 0 }}>
          <Text fw={500} size="sm" {...(isDone && { c: 'dimmed' })}>
            {t(`first.${name}.title`)} <VisuallyHidden>{t(isDone ? 'first.isDone' : 'first.isOpen')}</VisuallyHidden>
          </Text>
          {!isDone && <Muted>{mayDo ? t(`first.${name}.text`) : t('attention.askOperator')}</Muted>}
        </div>
        {!isDone && mayDo && (
          <ButtonLink to={to} size="xs" variant={isNext ? 'filled' : 'default'}>
            {t(`first.${name}.go`)}
          </ButtonLink>
        )}
      </Group>
    </Group>
  );
}

const TONES = { error: 'bad', warning: 'warning', info: 'neutral' } as const;

/** The page where each item is resolved. Connections, routes and unknown outcomes belong to the operator. */
const PLACES: Readonly<Record<Attention['kind'], (item: Attention) => string>> = {
  carrier_down: () => '/operator/connections',
  carrier_paused: () => '/operator/connections',
  sending_paused: () => '/operator',
  unknown_outcomes: () => '/operator/unknowns',
  webhook_failing: () => '/webhooks',
  webhook_disabled: () => '/webhooks',
  low_credit: () => '/account',
  campaign_failed: ({ subjectId }) => `/campaigns/${subjectId}`,
  campaign_paused: ({ subjectId }) => `/campaigns/${subjectId}`,
  import_failed: () => '/contacts/import',
  export_failed: () => '/exports',
  social_disconnected: () => '/social',
  template_rejected: () => '/account',
};

/** Items that need attention, most severe first; empty if there are none. */
function NeedsAttention({ items }: { readonly items: readonly Attention[] }) {
  const { t } = useTranslation('overview');
  if (items.length === 0) return null;
  return (
    <Section title={t('attention.title')}>
      <Stack component="ul" gap="md" m={0} p={0} style={{ listStyle: 'none' }}>
        {items.map((item) => (
          <Item key={`${item.kind} ${item.subjectId ?? item.subject ?? ''}`} item={item} />
        ))}
      </Stack>
    </Section>
  );
}

function Item({ item }: { readonly item: Attention }) {
  const { t } = useTranslation('overview');
  const { isOperator } = useSession();
  const { kind, severity, count, subject, since, detail } = item;
  const place = PLACES[kind](item);
  const mayGo = isOperator || !place.startsWith('/operator');
  return (
    <li>
      <Group align="flex-start" gap="sm" wrap="nowrap">
        <StatusBadge tone={TONES[severity]}>{t(`attention.severity.${severity}`)}</StatusBadge>
        <Stack gap={2} style={{ minWidth: 0 }}>
          <Text size="sm" fw={500} className="foreign-text">
            {t(`attention.kind.${kind}`, { count: count ?? 0, subject: subject ?? '' })}
          </Text>
          {detail !== null && (
            <Text size="sm" className="foreign-text">
              {detail}
            </Text>
          )}
          <Group gap="xs">
            {since !== null && (
              <Muted>
                <DateTime value={since} />
              </Muted>
            )}
            {mayGo ? <TextLink to={place}>{t(`attention.go.${kind}`)}</TextLink> : <AskOperator />}
          </Group>
        </Stack>
      </Group>
    </li>
  );
}

function AskOperator() {
  const { t } = useTranslation('overview');
  return <Muted>{t('attention.askOperator')}</Muted>;
}

const ONE_DIGIT = { maximumFractionDigits: 1 };

/** The current figures and those of today. */
function Figures({ overview }: { readonly overview: Overview | undefined }) {
  const { t } = useTranslation('overview');
  const rate = overview?.rate;
  const showsCredit = useSession().may({ scope: 'money' });
  return (
    <SimpleGrid cols={{ base: 2, md: 5 }} spacing={{ base: 'xs', md: 'md' }}>
      <Stat
        label={t('figure.rate')}
        value={rate && <Num value={rate.accepted} options={ONE_DIGIT} />}
        note={rate && <RateNote rate={rate} />}
        icon={Activity}
      />
      {overview ? (
        <Today overview={overview} />
      ) : (
        TODAY.filter((name) => name !== 'credit' || showsCredit).map((name) => (
          <Stat key={name} label={t(`figure.${name}`)} value={undefined} />
        ))
      )}
    </SimpleGrid>
  );
}

const TODAY = ['sent', 'delivered', 'failed', 'credit'] as const;

function RateNote({ rate }: { readonly rate: Overview['rate'] }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const { delivered, failed } = rate;
  if (delivered === null || failed === null) return t('figure.rateFirst');
  const counts = { delivered: format.number(delivered, ONE_DIGIT), failed: format.number(failed, ONE_DIGIT) };
  return t('figure.rateNote', counts);
}

function Today({ overview: { totals, credit } }: { readonly overview: Overview }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const { sent, delivered, failed, pending } = totals.today;
  const ended = delivered + failed;
  return (
    <>
      <Stat
        label={t('figure.sent')}
        value={<Num value={sent} />}
        note={<Change now={sent} before={totals.yesterday.sent} label="figure.yesterday" />}
        icon={Send}
      />
      <Stat
        label={t('figure.delivered')}
        value={<Percent share={ended === 0 ? null : delivered / ended} />}
        note={t('figure.deliveredNote', { delivered: format.number(delivered), pending: format.number(pending) })}
        icon={MailCheck}
      />
      <Stat
        label={t('figure.failed')}
        value={<Num value={failed} />}
        note={ended > 0 && t('figure.failedNote', { share: format.percent(failed / ended) })}
        icon={CircleX}
      />
      {credit && (
        <Stat
          label={t('figure.credit')}
          value={
            credit.unlimited ? t('figure.unlimited') : <Money amount={credit.available} currency={credit.currency} />
          }
          note={t('figure.frozen', { frozen: format.money(credit.frozen, credit.currency) })}
          icon={Coins}
        />
      )}
    </>
  );
}

/** The campaigns being sent, and the next scheduled ones. */
function Campaigns({ campaigns }: { readonly campaigns: readonly RunningCampaign[] }) {
  const { t } = useTranslation('overview');
  const all = (
    <ButtonLink to="/campaigns" variant="default" size="xs">
      {t('campaigns.all')}
    </ButtonLink>
  );
  return (
    <Section title={t('campaigns.title')} actions={all}>
      {campaigns.length === 0 && <Muted>{t('campaigns.none')}</Muted>}
      <Stack gap="sm">
        {campaigns.map((campaign) => (
          <Campaign key={campaign.id} campaign={campaign} />
        ))}
      </Stack>
    </Section>
  );
}

function Campaign({ campaign }: { readonly campaign: RunningCampaign }) {
  const { id, name, status, paused, scheduledAt, failureReason } = campaign;
  return (
    <Paper p="sm">
      <Stack gap="xs">
        <Group justify="space-between" gap="xs">
          <TextLink to={`/campaigns/${id}`} fw={500} className="foreign-text">
            {name}
          </TextLink>
          <CampaignStatus status={paused ? 'PAUSED' : status === 1 ? 'SCHEDULED' : 'SENDING'} />
        </Group>
        {status === 1 ? <Begins at={scheduledAt} /> : <Running campaign={campaign} />}
        {failureReason !== null && (
          <Text size="sm" className="foreign-text">
            {failureReason}
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

function Begins({ at }: { readonly at: string | null }) {
  const { t } = useTranslation('overview');
  return (
    <Muted>
      {t('campaigns.begins')} <DateTime value={at} />
    </Muted>
  );
}

function Running({ campaign }: { readonly campaign: RunningCampaign }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const { total, progress, ratePerSecond, estimatedSecondsLeft, paused } = campaign;
  const rate = ratePerSecond === null ? '' : t('campaigns.rate', { rate: format.number(Math.round(ratePerSecond)) });
  return (
    <JobProgress
      label={paused ? '' : rate}
      done={Math.round(progress * total)}
      total={total}
      secondsLeft={estimatedSecondsLeft}
      tone={paused ? 'paused' : 'running'}
    />
  );
}

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
    <PageFrame title={t('title')} actions={range}>
      {search.hours === 'period' ? (
        <Suspense>
          <LazyPeriod />
        </Suspense>
      ) : (
        <Now hours={Number(search.hours)} />
      )}
    </PageFrame>
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
