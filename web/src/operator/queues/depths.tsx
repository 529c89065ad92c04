import { CircleCheckBig } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { Duration } from '../../ui/values/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { listFields, text, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { AccountLink } from '../shared/account-link.tsx';
import { ConnectionFilter } from '../connections/connection-choice.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { REFRESH_MS } from '../shared/need.ts';
import { type Depth, listDepths } from './queue.ts';

const FIELDS = { ...listFields(), connection: text() };

/** The waiting messages by account, connection and priority, largest first. */
export function Depths() {
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
      { id: 'priority', header: t('queue.priority'), align: 'right', cell: ({ priority }) => <Num value={priority} /> },
      { id: 'waiting', header: t('queue.due'), align: 'right', cell: ({ waiting }) => <Num value={waiting} /> },
      {
        id: 'oldest',
        header: t('queue.age'),
        align: 'right',
        cell: ({ oldestSeconds }) => <Duration seconds={oldestSeconds} />,
      },
      { id: 'inFlight', header: t('queue.inFlight'), align: 'right', cell: ({ inFlight }) => <Num value={inFlight} /> },
      {
        id: 'scheduled',
        header: t('queue.scheduled'),
        align: 'right',
        cell: ({ scheduled }) => <Num value={scheduled} />,
      },
      {
        id: 'missed',
        header: t('queue.missed'),
        align: 'right',
        hidden: true,
        cell: ({ missed }) => <Num value={missed} />,
      },
      {
        id: 'parked',
        header: t('queue.held'),
        align: 'right',
        hidden: true,
        cell: ({ parked }) => <Num value={parked} />,
      },
    ],
    [t],
  );
}
