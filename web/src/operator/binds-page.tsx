import { Code, SimpleGrid, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Inbox, PlugZap } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, EmptyState, PageFrame } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime, Num, Stat } from '../ui/values.tsx';
import { AccountLink, REFRESH_MS } from './shared.tsx';

type Figure = 'perSecond' | 'submits' | 'throttled' | 'window' | 'unanswered' | 'waiting';

const HIDDEN: readonly Figure[] = ['submits', 'unanswered'];

function useBindColumns(): readonly Column<Bind>[] {
  const { t } = useTranslation('operator');
  return useMemo(() => {
    const figure = (id: Figure): Column<Bind> => ({
      id,
      header: t(`bind.${id}`),
      align: 'right',
      hidden: HIDDEN.includes(id),
      cell: (bind) => <Num value={bind[id]} />,
    });
    return [
      {
        id: 'account',
        header: t('account.word'),
        phone: 'title',
        cell: ({ accountId, account }) => <AccountLink id={accountId} name={account} />,
      },
      { id: 'credential', header: t('bind.credential'), cell: (bind) => <Who bind={bind} /> },
      { id: 'mode', header: t('bind.mode'), cell: ({ mode }) => t(`bind.modes.${mode}`) },
      { id: 'address', header: t('bind.address'), cell: ({ address }) => <Code dir="ltr">{address}</Code> },
      { id: 'boundAt', header: t('bind.boundAt'), cell: ({ boundAt }) => <DateTime value={boundAt} /> },
      figure('perSecond'),
      figure('throttled'),
      figure('window'),
      figure('waiting'),
      figure('submits'),
      figure('unanswered'),
      {
        id: 'version',
        header: t('bind.version'),
        hidden: true,
        cell: ({ version }) => <Code dir="ltr">{version}</Code>,
      },
    ];
  }, [t]);
}

function Who({ bind: { name, systemId } }: { readonly bind: Bind }) {
  return (
    <Stack gap={2} align="flex-start">
      {name !== '' && (
        <Text size="sm" dir="auto">
          {name}
        </Text>
      )}
      <Code dir="ltr">{systemId}</Code>
    </Stack>
  );
}

const FIELDS = listFields();

/** The page of the customers who are bound over SMPP. */
export function Page() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useBindColumns();
  const { page, limit } = search;
  const query = useListQuery(['operator', 'smpp', 'binds', search], (signal) => listBinds({ page, limit }, signal), {
    refetchInterval: REFRESH_MS,
  });
  return (
    <PageFrame title={t('bind.title')} description={t('bind.description')}>
      <Figures binds={query.data?.total} />
      <DataTable<Bind>
        id="operator-binds"
        label={t('bind.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        empty={
          <EmptyState icon={PlugZap} title={t('bind.none.title')} text={t('bind.none.text')}>
            <ButtonLink to="/operator/accounts">{t('account.title')}</ButtonLink>
          </EmptyState>
        }
      />
    </PageFrame>
  );
}

function Figures({ binds }: { readonly binds: number | undefined }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { data } = useQuery(deliveriesQuery);
  const oldest = data?.oldestSeconds ?? null;
  return (
    <SimpleGrid cols={{ base: 2 }}>
      <Stat label={t('bind.open')} value={binds === undefined ? undefined : <Num value={binds} />} icon={PlugZap} />
      <Stat
        label={t('bind.deliveries')}
        value={data && <Num value={data.waiting} />}
        note={data && (oldest === null ? t('bind.noneWaits') : t('queue.oldest', { age: format.duration(oldest) }))}
        icon={Inbox}
      />
    </SimpleGrid>
  );
}

const SMPP = '/api/operator/v1/smpp';

type Listed = { readonly page: number; readonly limit: number };
const listBinds = (query: Listed, signal: AbortSignal) => ok(api.GET(`${SMPP}/binds`, { params: { query }, signal }));
type Bind = Awaited<ReturnType<typeof listBinds>>['data'][number];

const findDeliveries = (signal: AbortSignal) => ok(api.GET(`${SMPP}/deliveries`, { signal }));
const deliveriesQuery = queryOptions({
  queryKey: ['operator', 'smpp', 'deliveries'],
  queryFn: ({ signal }) => findDeliveries(signal),
  refetchInterval: REFRESH_MS,
});
