import { Group, Stack, Text } from '@mantine/core';
import { Cable, Plus } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { ButtonLink, EmptyState, PageFrame } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { ChannelBadge, DateTime, Duration, Num } from '../ui/values.tsx';
import { numberColumn } from '../ui/columns.tsx';
import { type Connection, ConnectionState, Links, listConnections, Rate, WindowUse } from './connection-choice.tsx';
import { ConnectionLink, REFRESH_MS } from './shared.tsx';

function useConnectionColumns(): readonly Column<Connection>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      {
        id: 'name',
        header: t('connection.name'),
        phone: 'title',
        cell: (connection) => <Name connection={connection} />,
      },
      { id: 'state', header: t('state'), cell: (connection) => <Condition connection={connection} /> },
      {
        id: 'links',
        header: t('connection.links'),
        align: 'right',
        cell: (connection) => <Links connection={connection} />,
      },
      {
        id: 'window',
        header: t('connection.window'),
        align: 'right',
        phone: 'none',
        cell: (connection) => <WindowUse connection={connection} />,
      },
      { id: 'rate', header: t('perSecond'), align: 'right', cell: (connection) => <Rate connection={connection} /> },
      {
        id: 'accepted',
        header: t('connection.accepted1h'),
        align: 'right',
        cell: ({ lastHour }) => <Num value={lastHour.accepted} />,
      },
      {
        id: 'refused',
        header: t('connection.refused1h'),
        align: 'right',
        cell: ({ lastHour }) => <Num value={lastHour.refused} />,
      },
      { id: 'queued', header: t('waiting'), align: 'right', cell: (connection) => <Waiting connection={connection} /> },
      numberColumn('unknowns', t('connection.unknowns'), { hidden: true }),
      {
        id: 'createdAt',
        header: t('connection.createdAt'),
        hidden: true,
        cell: ({ createdAt }) => <DateTime value={createdAt} show="day" />,
      },
    ],
    [t],
  );
}

type Props = { readonly connection: Connection };

function Name({ connection: { name, channel, sandbox } }: Props) {
  const { t } = useTranslation('operator');
  return (
    <Group gap="xs">
      <ConnectionLink name={name} />
      <ChannelBadge channel={channel} />
      {sandbox && (
        <Text size="xs" c="dimmed" fw={400}>
          {t('connection.sandbox')}
        </Text>
      )}
    </Group>
  );
}

/** The state of a connection, with the carrier's error message. */
function Condition({ connection }: Props) {
  const { up, status, fault, lastError } = connection;
  const why = status === 'paused' ? null : (fault ?? (up ? null : lastError));
  return (
    <Stack gap={2} align="flex-start">
      <ConnectionState connection={connection} />
      {why !== null && (
        <Text size="xs" c="dimmed" className="foreign-text" lineClamp={2} maw={280}>
          {why}
        </Text>
      )}
    </Stack>
  );
}

function Waiting({ connection: { queued, oldestSeconds } }: Props) {
  if (queued === 0) return <Num value={0} />;
  return (
    <Stack gap={0}>
      <Num value={queued} />
      {oldestSeconds > 0 && (
        <Text size="xs" c="dimmed">
          <Duration seconds={oldestSeconds} />
        </Text>
      )}
    </Stack>
  );
}

const FIELDS = listFields();

/** The page of all connections, with their state across all workers. */
export function Page() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useConnectionColumns();
  const { page, limit } = search;
  const query = useListQuery(
    ['operator', 'connections', 'list', search],
    (signal) => listConnections({ page, limit }, signal),
    { refetchInterval: REFRESH_MS },
  );
  const add = (
    <ButtonLink to="/operator/connections/new" leftSection={<Plus size={16} />}>
      {t('connection.add')}
    </ButtonLink>
  );
  return (
    <PageFrame title={t('connection.title')} description={t('connection.description')} actions={add}>
      <DataTable<Connection>
        id="operator-connections"
        label={t('connection.title')}
        columns={columns}
        query={query}
        rowId={({ name }) => name}
        search={search}
        onSearch={setSearch}
        empty={
          <EmptyState
            icon={Cable}
            title={t('connection.none.title')}
            text={t('connection.none.text')}
            help="operating#connect-a-carrier"
          >
            {add}
          </EmptyState>
        }
      />
    </PageFrame>
  );
}
