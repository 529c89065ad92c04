import { SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Inbox, PlugZap } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ButtonLink } from '../../ui/link.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { listFields, useUrlState } from '../../ui/url-state.ts';
import { useFormat } from '../../ui/values/format.ts';
import { Num } from '../../ui/values/num.tsx';
import { Stat } from '../../ui/values/stat.tsx';
import { REFRESH_MS } from '../shared/need.ts';
import { type Bind, deliveriesQuery, listBinds } from './bind.ts';
import { useBindColumns } from './columns.tsx';

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
    <Frame title={t('bind.title')} description={t('bind.description')}>
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
    </Frame>
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
