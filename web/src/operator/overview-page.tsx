import { Alert, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Building2, CircleCheckBig, Gauge, ListOrdered, OctagonPause, Send } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { numberColumn } from '../ui/columns.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, ErrorState, Muted, PageFrame, Section, TableSkeleton, TextLink } from '../ui/parts.tsx';
import { ChannelBadge, DateTime, Duration, Num, Percent, Stat, StatusBadge, type Tone } from '../ui/values.tsx';
import { type SmallColumn, SmallTable } from '../ui/small-table.tsx';
import { shareOf } from './accounts-columns.tsx';
import { ConnectionState } from './connection-choice.tsx';
import classes from './lines.module.css';
import {
  AccountLink,
  ActiveSeriesChart,
  ConnectionLink,
  OPERATOR,
  REFRESH_MS,
  useServerText,
  Waiting,
} from './shared.tsx';

const findOverview = (signal: AbortSignal) => ok(api.GET('/api/operator/v1/overview', { signal }));
type Overview = Awaited<ReturnType<typeof findOverview>>;
type Attention = Overview['attention'][number];

const overviewQuery = queryOptions({
  queryKey: ['operator', 'overview', 'all'],
  queryFn: ({ signal }) => findOverview(signal),
  refetchInterval: REFRESH_MS,
});

const TONES: Readonly<Record<Attention['severity'], Tone>> = { error: 'bad', warning: 'warning', info: 'neutral' };

type Destination = { readonly to: string; readonly search?: Readonly<Record<string, string>> };

/** The page where the item is resolved; null if there is none. */
function destinationOf({ kind, subject, subjectId }: Attention): Destination | null {
  if (kind === 'sending_paused') return null;
  if (kind === 'no_worker' || kind === 'worker_missing') return { to: '/operator/queues' };
  if (kind === 'unknown_outcomes') return { to: '/operator/unknowns' };
  if (kind === 'receipts_unmatched') return { to: '/operator/health', search: { tab: 'receipts' } };
  if (kind === 'callbacks_unclaimed') return { to: '/operator/connections' };
  if (kind === 'missed_schedules') return { to: '/operator/queues' };
  if (kind === 'lookups_used_up') return { to: '/operator/routes' };
  if (kind === 'sold_under_cost' || kind === 'billing_differs')
    return { to: '/operator/prices', search: { tab: 'margins' } };
  if (kind === 'disk_low' || kind === 'certificate_expiring')
    return { to: '/operator/health', search: { tab: 'doctor' } };
  if (kind === 'agents_requested') return { to: '/operator/senders' };
  if (kind.startsWith('webhook_') || kind.startsWith('verify_') || kind === 'low_credit' || kind === 'token_expiring')
    return { to: `/operator/accounts/${subjectId}` };
  return subject === null ? null : { to: `/operator/connections/${encodeURIComponent(subject)}` };
}

/** Items of all accounts that need the operator's attention, most severe first. */
function AttentionList({ attention }: { readonly attention: readonly Attention[] }) {
  const { t } = useTranslation('operator');
  const shown = attention.filter(({ kind }) => kind !== 'sending_paused');
  return (
    <Section title={t('attention.title')}>
      {shown.length === 0 && (
        <Group gap="sm">
          <CircleCheckBig size={18} color="var(--mantine-color-green-text)" aria-hidden="true" />
          <Text size="sm">{t('attention.none')}</Text>
        </Group>
      )}
      {shown.length > 0 && (
        <ul className={classes.list} aria-label={t('attention.title')}>
          {shown.map((each) => (
            <li key={`${each.kind} ${each.subjectId ?? each.subject}`} className={classes.item}>
              <Line attention={each} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** Returns true if the item shows the number of waiting messages. The text of a stuck queue contains it. */
const isWaiting = ({ kind, count, accounts }: Attention): boolean =>
  kind !== 'queue_stuck' && accounts !== null && accounts > 0 && (count ?? 0) > 0;

function Line({ attention }: { readonly attention: Attention }) {
  const { t } = useTranslation('operator');
  const serverText = useServerText();
  const { kind, severity, count, accounts, compared, subject, since, detail } = attention;
  // A paused connection is a problem where nothing else takes its messages.
  const text = kind === 'connection_paused' && severity === 'error' ? 'connection_pausedOnly' : kind;
  const way = destinationOf(attention);
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap" align="flex-start">
      <Group gap="sm" align="flex-start" style={{ minWidth: 0, flex: 1 }}>
        <StatusBadge tone={TONES[severity]}>{t(`attention.severity.${severity}`)}</StatusBadge>
        <Stack gap={2} style={{ minWidth: 0, flex: '1 1 240px' }}>
          <Text size="sm">
            {t(`attention.kind.${text}`, { count: count ?? 0, subject, compared })}{' '}
            {isWaiting(attention) && <Waiting count={count ?? 0} accounts={accounts ?? 0} />}
          </Text>
          {detail !== null && (
            <Text size="xs" c="dimmed" className="foreign-text">
              {detail}
            </Text>
          )}
          {since !== null && (
            <Text size="xs" c="dimmed" component="div">
              <DateTime value={since} />
            </Text>
          )}
        </Stack>
      </Group>
      {way !== null && (
        <TextLink
          to={way.to}
          {...(way.search && { search: way.search })}
          aria-label={t('attention.seeWhat', { what: subject ?? serverText(`attention.short.${kind}`, kind) })}
        >
          {t('attention.see')}
        </TextLink>
      )}
    </Group>
  );
}

type Row = Overview['connections'][number];

/** All connections, one per line. */
function Connections({ connections }: Pick<Overview, 'connections'>) {
  const { t } = useTranslation('operator');
  const columns = useColumns();
  return (
    <Section
      title={t('connection.title')}
      actions={
        <TextLink to="/operator/connections" aria-label={t('overview.allConnections')}>
          {t('overview.all')}
        </TextLink>
      }
    >
      {connections.length === 0 ? (
        <Group>
          <Text size="sm">{t('connection.none.text')}</Text>
          <ButtonLink to="/operator/connections/new" size="xs">
            {t('connection.add')}
          </ButtonLink>
        </Group>
      ) : (
        <SmallTable label={t('connection.title')} columns={columns} rows={connections} rowId={({ name }) => name} />
      )}
    </Section>
  );
}

function useColumns(): readonly SmallColumn<Row>[] {
  const { t } = useTranslation('operator');
  return [
    { id: 'name', header: t('connection.name'), cell: ({ name }) => <ConnectionLink name={name} /> },
    { id: 'channel', header: t('channel'), phone: 'none', cell: ({ channel }) => <ChannelBadge channel={channel} /> },
    { id: 'state', header: t('state'), cell: (row) => <ConnectionState connection={row} /> },
    {
      id: 'rate',
      header: t('perSecond'),
      align: 'right',
      cell: ({ perSecond }) => <Num value={perSecond} options={{ maximumFractionDigits: 1 }} />,
    },
    {
      id: 'accepted',
      header: t('connection.accepted1h'),
      align: 'right',
      phone: 'none',
      cell: ({ lastHour }) => <Num value={lastHour.accepted} />,
    },
    {
      id: 'refused',
      header: t('connection.refused1h'),
      align: 'right',
      phone: 'none',
      cell: ({ lastHour }) => <Num value={lastHour.refused} />,
    },
    numberColumn('queued', t('waiting')),
    {
      id: 'oldest',
      header: t('queue.age'),
      align: 'right',
      phone: 'none',
      cell: ({ queued, oldestSeconds }) => <Duration seconds={queued === 0 ? null : oldestSeconds} />,
    },
  ];
}

/** Button that pauses all sending, for emergencies. */
function PauseButton() {
  const { t } = useTranslation('operator');
  return (
    <GuardedButton
      need={OPERATOR}
      variant="default"
      leftSection={<OctagonPause size={16} />}
      onClick={() => openDialog(<PauseDialog />)}
    >
      {t('fence.pause.open')}
    </GuardedButton>
  );
}

function PauseDialog() {
  const { t } = useTranslation('operator');
  return (
    <FormDialog
      title={t('fence.pause.title')}
      size="md"
      values={{ reason: '' }}
      validate={{ reason: (reason) => (reason.trim() === '' ? t('fence.pause.reasonMissing') : null) }}
      run={(body) => ok(api.POST('/api/operator/v1/fence/pause', { body }))}
      refresh={[['operator']]}
      action={t('fence.pause.submit')}
      kind="danger"
    >
      {(form) => (
        <>
          <Text size="sm">{t('fence.pause.text')}</Text>
          <TextInput
            label={t('fence.reason')}
            description={t('fence.pause.reasonHint')}
            maxLength={200}
            data-autofocus
            {...form.getInputProps('reason')}
          />
        </>
      )}
    </FormDialog>
  );
}

/** The four key figures of the gateway. */
function Figures({ overview }: { readonly overview: Overview | undefined }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { perSecond, workers, last24h, queue, accounts } = overview ?? {};
  const ended = (last24h?.delivered ?? 0) + (last24h?.failed ?? 0);
  const share =
    last24h && ended > 0
      ? t('overview.deliveredShare', { share: format.percent(last24h.delivered / ended) })
      : t('overview.noneEnded');
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }}>
      <Stat
        label={t('overview.perSecond')}
        value={perSecond === undefined ? undefined : <Num value={perSecond} options={{ maximumFractionDigits: 1 }} />}
        note={workers === undefined ? undefined : t('overview.workers', { count: workers })}
        icon={Gauge}
      />
      <Stat
        label={t('overview.sent24h')}
        value={last24h && <Num value={last24h.sent} />}
        note={last24h && share}
        icon={Send}
      />
      <Stat
        label={t('overview.queue')}
        value={queue && <Num value={queue.waiting} />}
        note={
          queue &&
          (queue.oldestSeconds === null
            ? t('queue.nothingDue')
            : t('queue.oldest', { age: format.duration(queue.oldestSeconds) }))
        }
        icon={ListOrdered}
      />
      <Stat
        label={t('overview.accounts')}
        value={accounts && <Num value={accounts.active} />}
        note={accounts && t('overview.suspended', { count: accounts.suspended })}
        icon={Building2}
      />
    </SimpleGrid>
  );
}

type TopRow = Overview['top'][number];

/** The accounts that send most. */
function Top({ top }: Pick<Overview, 'top'>) {
  const { t } = useTranslation('operator');
  const columns: readonly SmallColumn<TopRow>[] = [
    {
      id: 'account',
      header: t('account.word'),
      cell: ({ accountId, account }) => <AccountLink id={accountId} name={account} />,
    },
    numberColumn('sent', t('overview.sent')),
  ];
  return (
    <Section title={t('overview.top')}>
      {top.length === 0 ? (
        <Muted>{t('overview.noTop')}</Muted>
      ) : (
        <SmallTable
          label={t('overview.top')}
          columns={columns}
          rows={top}
          rowId={({ accountId }) => String(accountId)}
        />
      )}
    </Section>
  );
}

type ChannelRow = Overview['channels'][number];

/** The results of the last day by channel. */
function ChannelFigures({ channels }: Pick<Overview, 'channels'>) {
  const { t } = useTranslation('operator');
  const columns: readonly SmallColumn<ChannelRow>[] = [
    { id: 'channel', header: t('channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
    numberColumn('sent', t('overview.sent')),
    {
      id: 'delivered',
      header: t('overview.delivered'),
      align: 'right',
      cell: (row) => <Percent share={shareOf(row)} />,
    },
    numberColumn('read', t('overview.read'), { phone: 'none' }),
    numberColumn('failed', t('overview.failed')),
  ];
  return (
    <Section title={t('overview.channels')}>
      <SmallTable label={t('overview.channels')} columns={columns} rows={channels} rowId={({ channel }) => channel} />
    </Section>
  );
}

/** The gateway page: the state of the whole gateway, and the items that need attention. */
export function Page() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useQuery(overviewQuery);
  return (
    <PageFrame
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
    </PageFrame>
  );
}

const ResumeDialog = lazyPart(() =>
  import('./overview-resume-dialog.tsx').then((file) => ({ default: file.ResumeDialog })),
);

/** The alert that sending is paused, with the reason and a button to resume. */
function FenceAlert({ fence: { reason, since } }: Pick<Overview, 'fence'>) {
  const { t } = useTranslation('operator');
  return (
    <Alert color="red" icon={<OctagonPause size={20} />} title={t('fence.paused')} role="alert">
      <Group justify="space-between" align="flex-end" gap="md">
        <Stack gap={4} style={{ flex: '1 1 280px' }}>
          {reason !== null && (
            <Text size="sm" className="foreign-text">
              {reason}
            </Text>
          )}
          <Text size="sm" component="div">
            {t('fence.since')} <DateTime value={since} />. {t('fence.meanwhile')}
          </Text>
        </Stack>
        <GuardedButton need={OPERATOR} onClick={() => openDialog(<ResumeDialog />)}>
          {t('fence.resume.open')}
        </GuardedButton>
      </Group>
    </Alert>
  );
}

/** A chart of the messages that carriers accepted or rejected in the last hour, per minute. */
function Traffic({ series }: Pick<Overview, 'series'>) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const rows = useMemo(
    () => series.map(({ minute, ...values }) => ({ label: format.clock(new Date(minute)), values })),
    [series, format],
  );
  const lines = [
    { name: 'SMS', label: t('ui:channel.SMS'), color: 'blue.5' },
    { name: 'WHATSAPP', label: t('ui:channel.WHATSAPP'), color: 'teal.5' },
    { name: 'RCS', label: t('ui:channel.RCS'), color: 'violet.5' },
    { name: 'refused', label: t('connection.refused'), color: 'red.5' },
  ];
  return (
    <Section title={t('overview.traffic')} description={t('overview.trafficHint')}>
      <ActiveSeriesChart label={t('overview.traffic')} rowLabel={t('minute')} rows={rows} series={lines} height={240} />
    </Section>
  );
}
