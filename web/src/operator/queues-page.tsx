import { Alert, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { CircleCheckBig, Clock, Hourglass, ListOrdered, Webhook } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { numberColumn } from '../ui/columns.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { confirm, questionTexts } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { listFields, text, useUrlState } from '../ui/url-state.ts';
import { DateTime, Duration, Num, Stat, StatusBadge } from '../ui/values.tsx';
import { type SmallColumn, SmallTable } from '../ui/small-table.tsx';
import { ConnectionFilter } from './connection-choice.tsx';
import { AccountLink, ConnectionLink, OPERATOR, REFRESH_MS, useServerText } from './shared.tsx';

/** Scheduled messages that were missed while no worker ran; nothing if there are none. */
function MissedSchedules() {
  const { t } = useTranslation('operator');
  const { data } = useQuery(missedQuery);
  if (data === undefined || data.total === 0) return null;
  return (
    <Section title={t('missed.title')} description={t('missed.text')}>
      <Stack gap="sm">
        {data.data.map((missed) => (
          <MissedLine key={missed.id} missed={missed} />
        ))}
      </Stack>
    </Section>
  );
}

type Decision = 'release' | 'cancel';

function MissedLine({ missed: { id, accountId, account, messages, dueAt } }: { readonly missed: Missed }) {
  const { t } = useTranslation('operator');
  const ask = (decision: Decision): void =>
    confirm({
      ...questionTexts(t, `missed.${decision}`, { count: messages, account }),
      kind: decision === 'cancel' ? 'danger' : 'normal',
      run: () => ok(api.POST(`${MISSED}/{id}/${decision}`, { params: { path: { id } } })),
      refresh: QUEUE_KEYS,
    });
  return (
    <Group justify="space-between" gap="sm">
      <Group gap="sm">
        <AccountLink id={accountId} name={account} />
        <Text size="sm">{t('missed.messages', { count: messages })}</Text>
        <Text size="sm" c="dimmed" component="div">
          <DateTime value={dueAt} />
        </Text>
      </Group>
      <Group gap="xs">
        <GuardedButton need={OPERATOR} size="xs" variant="default" onClick={() => ask('cancel')}>
          {t('missed.cancel.open')}
        </GuardedButton>
        <GuardedButton need={OPERATOR} size="xs" onClick={() => ask('release')}>
          {t('missed.release.open')}
        </GuardedButton>
      </Group>
    </Group>
  );
}

const FIELDS = { ...listFields(), connection: text() };

/** The waiting messages by account, connection and priority, largest first. */
function Depths() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useDepthColumns();
  const { page, limit, connection } = search;
  const query = useListQuery(
    ['operator', 'queues', 'depths', search],
    (signal) => listDepths({ page, limit, ...(connection && { connection }) }, signal),
    { refetchInterval: REFRESH_MS },
  );
  const filter = <ConnectionFilter value={connection} onChange={(next) => setSearch({ connection: next })} />;
  return (
    <Section title={t('queue.depths')} description={t('queue.depthsHint')} actions={filter}>
      <DataTable<Depth>
        id="operator-queues"
        label={t('queue.depths')}
        columns={columns}
        query={query}
        rowId={(row) => `${row.accountId} ${row.connection} ${row.priority}`}
        search={search}
        onSearch={setSearch}
        empty={<EmptyState icon={CircleCheckBig} title={t('queue.none.title')} text={t('queue.none.text')} />}
      />
    </Section>
  );
}

function useDepthColumns(): readonly Column<Depth>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      {
        id: 'account',
        header: t('account.word'),
        phone: 'title',
        cell: ({ accountId, account }) => <AccountLink id={accountId} name={account} />,
      },
      { id: 'connection', header: t('connection.one'), cell: ({ connection }) => <ConnectionLink name={connection} /> },
      numberColumn('priority', t('queue.priority')),
      numberColumn('waiting', t('queue.due')),
      {
        id: 'oldest',
        header: t('queue.age'),
        align: 'right',
        cell: ({ oldestSeconds }) => <Duration seconds={oldestSeconds} />,
      },
      numberColumn('inFlight', t('queue.inFlight')),
      numberColumn('scheduled', t('queue.scheduled')),
      numberColumn('missed', t('queue.missed'), { hidden: true }),
      numberColumn('parked', t('queue.held'), { hidden: true }),
    ],
    [t],
  );
}

type Worker = Queues['workers'][number];

/** The worker processes, with the errors of their loops. */
function Workers({ queues }: { readonly queues: Queues | undefined }) {
  const { t } = useTranslation('operator');
  const living = queues?.workers.filter(({ alive }) => alive) ?? [];
  return (
    <Section title={t('worker.title')} description={t('worker.hint')}>
      {queues === undefined && <TableSkeleton rows={3} />}
      {queues && living.length === 0 && (
        <Alert color="red" role="alert">
          {t('worker.none')}
        </Alert>
      )}
      <Stack gap="md">
        {queues?.workers.map((worker) => (
          <WorkerLine key={worker.id} worker={worker} />
        ))}
      </Stack>
    </Section>
  );
}

function WorkerLine({ worker: { host, pid, startedAt, seenAt, alive, tasks } }: { readonly worker: Worker }) {
  const { t } = useTranslation('operator');
  const failed = tasks.filter(({ error }) => error !== null);
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Group gap="xs">
          <Text size="sm" fw={500}>
            <bdi>{host}</bdi>
          </Text>
          <Text size="xs" c="dimmed" className="tabular">
            {t('worker.pid', { pid })}
          </Text>
        </Group>
        <StatusBadge tone={alive ? 'good' : 'bad'}>{t(alive ? 'worker.alive' : 'worker.gone')}</StatusBadge>
      </Group>
      <Text size="xs" c="dimmed" component="div">
        {t('worker.since')} <DateTime value={startedAt} /> · {t('worker.seen')} <DateTime value={seenAt} />
      </Text>
      {failed.map(({ name, error }) => (
        <Alert key={name} color="amber" py="xs">
          <Text size="xs" className="foreign-text">
            <Code>{name}</Code> {error}
          </Text>
        </Alert>
      ))}
    </Stack>
  );
}

type FiguresProps = { readonly queues: Queues | undefined };

/** The key figures of the queues. */
function Figures({ queues }: FiguresProps) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const oldest = (seconds: number | null | undefined): string | undefined =>
    seconds === undefined
      ? undefined
      : seconds === null
        ? t('queue.nothingDue')
        : t('queue.oldest', { age: format.duration(seconds) });
  const { messages, webhooks } = queues ?? {};
  const figure = (count: number | undefined) => (count === undefined ? undefined : <Num value={count} />);
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }}>
      <Stat
        label={t('queue.due')}
        value={figure(messages?.waiting)}
        note={oldest(messages?.oldestSeconds)}
        icon={ListOrdered}
      />
      <Stat
        label={t('queue.inFlight')}
        value={figure(messages?.inFlight)}
        note={t('queue.inFlightNote')}
        icon={Hourglass}
      />
      <Stat
        label={t('queue.scheduled')}
        value={figure(messages?.scheduled)}
        note={messages && t('queue.parked', { count: messages.parked, shown: format.number(messages.parked) })}
        icon={Clock}
      />
      <Stat
        label={t('queue.webhooks')}
        value={webhooks && <Num value={webhooks.fresh + webhooks.retrying} />}
        note={
          webhooks &&
          t('queue.webhooksNote', { retrying: format.number(webhooks.retrying), dead: format.number(webhooks.dead) })
        }
        icon={Webhook}
      />
    </SimpleGrid>
  );
}

const QUEUES = '/api/operator/v1/queues';
const MISSED = '/api/operator/v1/schedules/missed';

const findQueues = (signal: AbortSignal) => ok(api.GET(QUEUES, { signal }));
type Queues = Awaited<ReturnType<typeof findQueues>>;
const queuesQuery = queryOptions({
  queryKey: ['operator', 'queues', 'all'],
  queryFn: ({ signal }) => findQueues(signal),
  refetchInterval: REFRESH_MS,
});

type Listed = { readonly page: number; readonly limit: number; readonly connection?: string };
const listDepths = (query: Listed, signal: AbortSignal) =>
  ok(api.GET(`${QUEUES}/messages`, { params: { query }, signal }));
type Depth = Awaited<ReturnType<typeof listDepths>>['data'][number];

const listMissed = (signal: AbortSignal) => ok(api.GET(MISSED, { params: { query: { limit: 100 } }, signal }));
type Missed = Awaited<ReturnType<typeof listMissed>>['data'][number];
const missedQuery = queryOptions({
  queryKey: ['operator', 'queues', 'missed'],
  queryFn: ({ signal }) => listMissed(signal),
  refetchInterval: REFRESH_MS * 2,
});

const QUEUE_KEYS = [
  ['operator', 'queues'],
  ['operator', 'overview'],
] as const;

type Pipeline = Queues['pipelines'][number];

/** The background jobs: receipts, campaigns, imports and others. */
function Pipelines({ queues }: { readonly queues: Queues | undefined }) {
  const { t } = useTranslation('operator');
  const serverText = useServerText();
  const columns: readonly SmallColumn<Pipeline>[] = [
    { id: 'name', header: t('pipeline.work'), cell: ({ name }) => serverText(`pipeline.name.${name}`, name) },
    numberColumn('waiting', t('pipeline.due')),
    {
      id: 'oldest',
      header: t('queue.age'),
      align: 'right',
      cell: ({ oldestSeconds }) => <Duration seconds={oldestSeconds} />,
    },
  ];
  return (
    <Section title={t('pipeline.title')} description={t('pipeline.hint')}>
      {queues === undefined ? (
        <TableSkeleton rows={6} />
      ) : (
        <SmallTable label={t('pipeline.title')} columns={columns} rows={queues.pipelines} rowId={({ name }) => name} />
      )}
    </Section>
  );
}

/** The page of the queues and workers. */
export function Page() {
  const { t } = useTranslation('operator');
  const { data, error, refetch } = useQuery(queuesQuery);
  return (
    <PageFrame title={t('queue.title')} description={t('queue.description')}>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      <Figures queues={data} />
      <MissedSchedules />
      <Depths />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
        <Pipelines queues={data} />
        <Workers queues={data} />
      </SimpleGrid>
    </PageFrame>
  );
}
